package pki

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// rejectedStore keeps the certificates that were refused last, bounded in number and bytes. Files are
// named by thumbprint, and nothing else of a certificate plays a part.
type rejectedStore struct {
	dir string // "" in memory

	mu sync.Mutex
	// Guarded by mu.
	entries []rejectedEntry // the oldest first
	bytes   int
}

type rejectedEntry struct {
	name string
	size int
	der  []byte // in memory; nil on disk
}

func newRejectedStore(dir string) *rejectedStore {
	r := &rejectedStore{}
	if dir != "" {
		r.dir = filepath.Join(dir, "rejected")
	}
	return r
}

// load counts what earlier runs left behind. Files of other names are not ours and stay.
func (r *rejectedStore) load() {
	files, err := os.ReadDir(r.dir)
	if err != nil {
		return // the folder was just made; add reports what is wrong with it
	}
	type aged struct {
		rejectedEntry
		at time.Time
	}
	var found []aged
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !info.Mode().IsRegular() || !isRejectedName(f.Name()) {
			continue
		}
		found = append(found, aged{rejectedEntry{name: f.Name(), size: int(info.Size())}, info.ModTime()})
	}
	slices.SortFunc(found, func(a, b aged) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range found {
		r.entries = append(r.entries, found[i].rejectedEntry)
		r.bytes += found[i].size
	}
	r.trim()
}

func isRejectedName(name string) bool {
	base, ok := strings.CutSuffix(name, ".der")
	return ok && len(base) == 40 && strings.Trim(base, "0123456789abcdef") == ""
}

// add stores a certificate as the newest one, and drops the oldest beyond the bounds. It returns the file's
// path, which is empty in memory.
func (r *rejectedStore) add(leaf *Parsed) (string, error) {
	name := leaf.ThumbprintString() + ".der"
	r.mu.Lock()
	defer r.mu.Unlock()
	path := ""
	if r.dir != "" {
		path = filepath.Join(r.dir, name)
	}
	known := slices.IndexFunc(r.entries, func(e rejectedEntry) bool { return e.name == name })
	if known >= 0 {
		r.bytes -= r.entries[known].size
		r.entries = slices.Delete(r.entries, known, known+1)
	}
	if path != "" {
		// A known file may have been moved away since.
		if _, err := os.Stat(path); known < 0 || err != nil {
			if err := writeOver(path, leaf.DER, 0o644); err != nil {
				return "", err
			}
		}
	}
	entry := rejectedEntry{name: name, size: len(leaf.DER)}
	if path == "" {
		entry.der = leaf.DER
	}
	r.entries = append(r.entries, entry)
	r.bytes += len(leaf.DER)
	r.trim()
	return path, nil
}

// remove takes a certificate out that is trusted now.
func (r *rejectedStore) remove(der []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) == 0 {
		return // as it is nearly always
	}
	sum := sha1.Sum(der)
	name := hex.EncodeToString(sum[:]) + ".der"
	i := slices.IndexFunc(r.entries, func(e rejectedEntry) bool { return e.name == name })
	if i < 0 {
		return
	}
	if r.dir != "" {
		_ = os.Remove(filepath.Join(r.dir, name)) // moved away is as good as removed
	}
	r.bytes -= r.entries[i].size
	r.entries = slices.Delete(r.entries, i, i+1)
}

// trim drops the oldest entries beyond the bounds. Called with mu.
func (r *rejectedStore) trim() {
	drop := 0
	for drop < len(r.entries) && (len(r.entries)-drop > rejectedCount || r.bytes > rejectedBytes) {
		if r.dir != "" {
			_ = os.Remove(filepath.Join(r.dir, r.entries[drop].name)) // moved away is as good as removed
		}
		r.bytes -= r.entries[drop].size
		drop++
	}
	r.entries = slices.Delete(r.entries, 0, drop)
}

// list returns the certificates, the newest last. What was moved away since is left out.
func (r *rejectedStore) list() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ders [][]byte
	for i := range r.entries {
		e := &r.entries[i]
		if r.dir == "" {
			ders = append(ders, e.der)
			continue
		}
		der, err := readFile(filepath.Join(r.dir, e.name))
		if err != nil {
			continue
		}
		if sum := sha1.Sum(der); hex.EncodeToString(sum[:])+".der" == e.name {
			ders = append(ders, der)
		}
	}
	return ders
}

func (r *rejectedStore) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.entries)
}

// pacer lets a burst of events through, then one in each interval, and counts the rest. Its zero value is
// ready to use.
type pacer struct {
	mu sync.Mutex
	// Guarded by mu.
	spent      int
	since      time.Time
	suppressed uint64
}

// take reports whether an event may be recorded, and how many were not since the last that was.
func (p *pacer) take(now time.Time) (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := now.Sub(p.since)
	if regained := int(min(elapsed/noteEvery, noteBurst)); regained > 0 {
		p.spent = max(0, p.spent-regained)
		p.since = now
	} else if elapsed < 0 {
		p.since = now // the clock was set back
	}
	if p.spent >= noteBurst {
		p.suppressed++
		return 0, false
	}
	p.spent++
	suppressed := p.suppressed
	p.suppressed = 0
	return suppressed, true
}
