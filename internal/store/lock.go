package store

import (
	"math/rand/v2"
	"sync"
)

// sharedLock is a read-write lock whose readers do not meet on one cache line: each takes one of several locks by
// chance, and a writer takes them all. Reads outnumber commits by far, and must not slow each other down.
type sharedLock struct {
	slots [8]struct {
		sync.RWMutex
		_ [104]byte // a slot fills two cache lines
	}
}

// read locks for reading; the caller unlocks what it returns with RUnlock.
func (l *sharedLock) read() *sync.RWMutex {
	slot := &l.slots[rand.Uint32()%uint32(len(l.slots))].RWMutex
	slot.RLock()
	return slot
}

// Lock waits for all readers and keeps new ones out.
func (l *sharedLock) Lock() {
	for i := range l.slots {
		l.slots[i].Lock()
	}
}

// Unlock lets readers in again.
func (l *sharedLock) Unlock() {
	for i := range l.slots {
		l.slots[i].Unlock()
	}
}
