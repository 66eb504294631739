package main

import "time"

// meter takes the CPU time of the server, where its process id is known, and of
// this process over a while.
type meter struct {
	server      process // 0: not known
	serverSpent time.Duration
	ownSpent    time.Duration
	rss         int64 // of the server in bytes, at the end
}

func (m *meter) start() (err error) {
	m.ownSpent = -ownCPU()
	if m.server > 0 {
		m.serverSpent, err = m.server.cpu()
		m.serverSpent = -m.serverSpent
	}
	return err
}

func (m *meter) stop() error {
	m.ownSpent += ownCPU()
	if m.server == 0 {
		return nil
	}
	spent, err := m.server.cpu()
	if err != nil {
		return err
	}
	m.serverSpent += spent
	m.rss, err = m.server.rss()
	return err
}
