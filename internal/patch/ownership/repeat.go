package ownership

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/bowline-dev/bowline/internal/kind"
)

// manyRepeats is how many applies of a kind are remembered, at some 100 bytes each.
const manyRepeats = 4096

// repeats are applies that changed nothing: what an apply makes depends on nothing but its own words, its manager and the
// state that it is applied to, which a uid and a revision name. Those who apply on a timer send the same again and again.
type repeats struct {
	mu   sync.Mutex
	seen map[repeat]struct{}
}

type repeat [sha256.Size]byte

// repeatOf names an apply; ok is false for one to an object that is not stored yet.
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
	_, ok := s.seen[r]
	return ok
}

func (s *repeats) add(r repeat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) >= manyRepeats {
		s.seen = map[repeat]struct{}{}
	}
	s.seen[r] = struct{}{}
}
