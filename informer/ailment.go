package informer

import "sync"

// ailment is why a reflector cannot list or watch at the moment.
type ailment struct {
	mu  sync.Mutex
	err error
}

func (a *ailment) set(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// get is nil when all is well.
func (a *ailment) get() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}
