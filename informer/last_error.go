package informer

import "sync"

// ailment is the current error of a reflector that cannot list or watch.
type ailment struct {
	mu  sync.Mutex
	err error
}

func (a *ailment) set(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// get returns nil if the reflector lists and watches.
func (a *ailment) get() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}
