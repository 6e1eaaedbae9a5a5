package disk

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard is a file system that stops at its first failure: the failed change and all later ones are reported
// as successful but not performed. The disk is left as a crash at that moment would leave it, whatever the
// database does in memory, and no failed sync is retried: after a failed fsync the kernel marks the pages as clean,
// so a second fsync would succeed without writing them (https://lwn.net/Articles/752063).
// Callers must check the guard's error before they treat anything as durable.
//
// The guard also defers the removal of files until the database is known to be complete, because a database
// that lacks some of its files considers others obsolete.
type guard struct {
	vfs.FS

	mu              sync.Mutex
	removalsAllowed bool
	deferred        []string // files that allowRemovals removes
	// unflushed lists the write-ahead logs whose contents the database has only in memory.
	unflushed []string

	once   sync.Once
	cause  error
	failed chan struct{} // closed by the first failure
}

func newGuard(fs vfs.FS) *guard { return &guard{FS: fs, failed: make(chan struct{})} }

// stop prevents all further changes.
func (g *guard) stop(cause error) {
	g.once.Do(func() {
		g.cause = cause
		close(g.failed)
	})
}

// err returns why the guard has stopped, nil if it has not.
func (g *guard) err() error {
	select {
	case <-g.failed:
		return g.cause
	default:
		return nil
	}
}

// change performs a change unless the guard has stopped, and stops the guard if the change fails. It always
// returns nil.
func (g *guard) change(do func() error) error {
	if g.err() != nil {
		return nil
	}
	if err := do(); err != nil {
		g.stop(err)
	}
	return nil
}

// create creates a file for writing. Once the guard has stopped, the file discards all writes.
func (g *guard) create(do func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File = discardFile{}
	err := g.change(func() error {
		created, err := do()
		if err == nil {
			f = created
		}
		return err
	})
	return g.wrap(f, err)
}

// open opens an existing file. Once the guard has stopped, the file may be missing because its creation was
// skipped.
func (g *guard) open(do func() (vfs.File, error)) (vfs.File, error) {
	f, err := do()
	if err != nil && g.err() != nil {
		return nil, g.err()
	}
	return g.wrap(f, err)
}

func (g *guard) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &guarded{File: f, guard: g}, nil
}

func (g *guard) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.create(func() (vfs.File, error) {
		if err := g.syncBeforeMarker(name); err != nil {
			return nil, err
		}
		return g.FS.Create(name, category)
	})
}

func (g *guard) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.create(func() (vfs.File, error) { return g.FS.ReuseForWrite(from, to, category) })
}

func (g *guard) OpenReadWrite(name string, category vfs.DiskWriteCategory,
	options ...vfs.OpenOption) (vfs.File, error) {
	return g.create(func() (vfs.File, error) { return g.FS.OpenReadWrite(name, category, options...) })
}

func (g *guard) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	g.noteLog(name)
	return g.open(func() (vfs.File, error) { return g.FS.Open(name, options...) })
}

func (g *guard) OpenDir(name string) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.OpenDir(name) })
}

func (g *guard) Stat(name string) (vfs.FileInfo, error) {
	info, err := g.FS.Stat(name)
	if err != nil && g.err() != nil {
		return nil, g.err()
	}
	return info, err
}

func (g *guard) Link(from, to string) error {
	return g.change(func() error { return g.FS.Link(from, to) })
}

// Remove removes a file, deferred until allowRemovals is called. A missing file is not a failure of the disk.
func (g *guard) Remove(name string) error {
	if g.deferRemoval(name) {
		return nil
	}
	var missing error
	_ = g.change(func() error {
		err := g.syncBeforeMarker(name)
		if err == nil {
			err = g.FS.Remove(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			missing, err = err, nil
		}
		return err
	})
	return missing
}

func (g *guard) RemoveAll(name string) error {
	return g.change(func() error { return g.FS.RemoveAll(name) })
}

func (g *guard) Rename(from, to string) error {
	return g.change(func() error { return g.FS.Rename(from, to) })
}

func (g *guard) MkdirAll(name string, perm os.FileMode) error {
	return g.change(func() error { return g.FS.MkdirAll(name, perm) })
}

// GetDiskUsage returns vfs.ErrUnsupported on failure, so that it does not stop the guard.
func (g *guard) GetDiskUsage(name string) (vfs.DiskUsage, error) {
	usage, err := g.FS.GetDiskUsage(name)
	if err != nil {
		return usage, vfs.ErrUnsupported
	}
	return usage, nil
}

func (g *guard) Unwrap() vfs.FS { return g.FS }
