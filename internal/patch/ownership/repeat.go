package ownership

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/bowline-dev/bowline/internal/kind"
)

// maxRepeats is the maximum number of recorded applies per kind, at about 100 bytes each.
const maxRepeats = 4096

// repeats records applies that changed nothing. The result of an apply depends only on the document, the
// options, the manager, and the live state, which uid and resourceVersion identify. Clients that apply on a
// timer send the same document repeatedly.
type repeats struct {
	mu    sync.Mutex
	known map[repeat]struct{}
}

type repeat [sha256.Size]byte

// repeatOf returns the hash that identifies an apply; ok is false if the object is not stored yet.
func repeatOf(apiVersion, sub string, live kind.Object, text []byte, manager string, force bool) (r repeat, ok bool) {
	if live == nil || live.GetUID() == "" || live.GetResourceVersion() == "" {
		return r, false
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %q %t\n", apiVersion, sub, live.GetUID(), live.GetResourceVersion(), manager, force)
	sum.Write(text)
	sum.Sum(r[:0])
	return r, true
}

func (s *repeats) has(r repeat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[r]
	return ok
}

func (s *repeats) add(r repeat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxRepeats {
		s.known = map[repeat]struct{}{}
	}
	s.known[r] = struct{}{}
}
