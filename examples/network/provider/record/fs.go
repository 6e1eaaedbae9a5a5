package record

import (
	"context"
	"io/fs"
	"sync"
)

// FS is the folder that contains the records. Names are plain file names. The implementations are Dir, on
// disk, and Memory, which makes no system calls, for tests in virtual time.
type FS interface {
	// List returns the names of all files, including those whose first Write did not complete.
	List() ([]string, error)
	// Read returns a file's content; the error is fs.ErrNotExist if there is no such file.
	Read(name string) ([]byte, error)
	// Write replaces the whole file, or fails and leaves it unchanged.
	Write(name string, data []byte) error
	// Remove removes a file. It succeeds if there is no such file.
	Remove(name string) error
	// Watch calls changed with the name of each file that may have changed, until ctx ends or an error
	// occurs. An empty name means that any file may have changed; the first call has an empty name. It must
	// not call changed after it has returned.
	Watch(ctx context.Context, changed func(name string)) error
}

// Memory is an FS in memory. It starts no goroutine and makes no system call. Several Providers may share
// one. The zero value is empty and ready. It is safe for concurrent use.
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
	m.notify(name)
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
	m.notify(name)
	return nil
}

// Writes returns the total number of files that were written or removed.
func (m *Memory) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// memoryWatch contains the pending events of a watcher.
type memoryWatch struct {
	pending map[string]struct{}
	wake    chan struct{}
}

// notify adds an event for each watcher. The caller holds m.mu.
func (m *Memory) notify(name string) {
	for w := range m.watchers {
		w.pending[name] = struct{}{}
		select {
		case w.wake <- struct{}{}:
		default: // a wake-up is pending already
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
			for _, name := range m.takePending(w) {
				changed(name)
			}
		}
	}
}

func (m *Memory) takePending(w *memoryWatch) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range w.pending {
		names = append(names, name)
	}
	clear(w.pending)
	return names
}
