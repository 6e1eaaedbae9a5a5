package informer

import "sync"

// lastError is the current error of a reflector that cannot list or watch.
type lastError struct {
	mu  sync.Mutex
	err error
}

func (a *lastError) set(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// get returns nil if the reflector lists and watches.
func (a *lastError) get() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}
