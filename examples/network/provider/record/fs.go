package record

import (
	"context"
	"io/fs"
	"sync"
)

// FS is the folder that the records are kept in. Its names are plain file names. Dir is one on disk and Memory one that
// touches no operating system, for tests in virtual time.
type FS interface {
	// List is the names of all files, also of those whose first Write did not end.
	List() ([]string, error)
	// Read gives a file's content; the error is fs.ErrNotExist when there is none.
	Read(name string) ([]byte, error)
	// Write puts a whole file in place, or fails and leaves what was there.
	Write(name string, data []byte) error
	// Remove takes a file away; that there is none is no error.
	Remove(name string) error
	// Watch calls changed with the name of each file that may have changed, until ctx ends or it fails; with an empty
	// name when any may have, and so first of all. It must not call it after it has returned.
	Watch(ctx context.Context, changed func(name string)) error
}

// Memory is an FS without a file system: a map. It starts no goroutine and makes no system call, and two Providers may
// share one. The zero value is empty and ready. It is safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	files    map[string][]byte
	writes   int
	watchers map[*memoryWatch]struct{}
}

// List implements FS.
func (m *Memory) List() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, 0, len(m.files))
	for name := range m.files {
		names = append(names, name)
	}
	return names, nil
}

// Read implements FS.
func (m *Memory) Read(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return append([]byte(nil), data...), nil
}

// Write implements FS.
func (m *Memory) Write(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	m.files[name] = append([]byte(nil), data...)
	m.writes++
	m.tell(name)
	return nil
}

// Remove implements FS.
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.files[name]; !ok {
		return nil
	}
	delete(m.files, name)
	m.writes++
	m.tell(name)
	return nil
}

// Writes counts the files that were written or removed since the beginning.
func (m *Memory) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// memoryWatch is what a watcher has not been told yet.
type memoryWatch struct {
	pending map[string]struct{}
	wake    chan struct{}
}

// tell notes a change for each watcher; m.mu is held.
func (m *Memory) tell(name string) {
	for w := range m.watchers {
		w.pending[name] = struct{}{}
		select {
		case w.wake <- struct{}{}:
		default: // it is to be woken already
		}
	}
}

// Watch implements FS.
func (m *Memory) Watch(ctx context.Context, changed func(name string)) error {
	w := &memoryWatch{pending: map[string]struct{}{}, wake: make(chan struct{}, 1)}
	m.mu.Lock()
	if m.watchers == nil {
		m.watchers = map[*memoryWatch]struct{}{}
	}
	m.watchers[w] = struct{}{}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.watchers, w)
		m.mu.Unlock()
	}()
	changed("")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
			for _, name := range m.take(w) {
				changed(name)
			}
		}
	}
}

func (m *Memory) take(w *memoryWatch) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range w.pending {
		names = append(names, name)
	}
	clear(w.pending)
	return names
}
