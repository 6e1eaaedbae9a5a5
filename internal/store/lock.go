package store

import (
	"math/rand/v2"
	"sync"
)

// sharedLock is a read-write lock whose readers do not contend for one cache line: each locks one of several
// locks at random, and a writer locks all of them. Reads far outnumber commits.
type sharedLock struct {
	slots [8]struct {
		sync.RWMutex
		_ [104]byte // a slot fills two cache lines
	}
}

// read locks for reading; the caller unlocks the returned lock with RUnlock.
func (l *sharedLock) read() *sync.RWMutex {
	slot := &l.slots[rand.Uint32()%uint32(len(l.slots))].RWMutex
	slot.RLock()
	return slot
}

// Lock waits for all readers and blocks new ones.
func (l *sharedLock) Lock() {
	for i := range l.slots {
		l.slots[i].Lock()
	}
}

// Unlock admits readers.
func (l *sharedLock) Unlock() {
	for i := range l.slots {
		l.slots[i].Unlock()
	}
}
