package pki

import (
	"context"
	"time"
)

// Watch looks at the folders until the context ends, and calls changed after every change of the trust
// lists: at once after one that this program made, and after one on disk when the folders have looked the
// same for two looks, since files that are being copied are seen half written. What validates anew follows
// a change without delay; changed is for what was validated before. It is called on the goroutine of Watch.
//
// It looks once a second, less often where that takes long, and never at a store in memory.
func (s *Store) Watch(ctx context.Context, changed func()) {
	kick := make(chan struct{}, 1)
	s.watchers.Store(kick, struct{}{})
	defer s.watchers.Delete(kick)

	var look <-chan time.Time // never for a store in memory
	timer := time.NewTimer(rescanEvery)
	defer timer.Stop()
	if s.apps.dir != "" {
		look = timer.C
	}
	told := s.version()
	last := told
	for {
		select {
		case <-ctx.Done():
			return
		case <-kick:
			last = s.version()
			if last == told {
				continue
			}
		case <-look:
			timer.Reset(s.look())
			before := last
			last = s.version()
			if last == told || last != before {
				continue
			}
		}
		told = last
		changed()
	}
}

// look reloads what has changed on disk, and returns when to look again.
func (s *Store) look() time.Duration {
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	s.reloadLogged()
	return max(rescanEvery, rescanShare*s.scan.took)
}

// version tells states of the store apart.
type version struct{ apps, users uint64 }

func (s *Store) version() version {
	return version{s.apps.current.Load().serial, s.users.current.Load().serial}
}

// changed wakes the watchers after a change that this program made.
func (s *Store) changed() {
	s.watchers.Range(func(kick, _ any) bool {
		select {
		case kick.(chan struct{}) <- struct{}{}:
		default: // it is about to look anyway
		}
		return true
	})
}
