package disk_test

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// failing is a way in which a change of a disk fails.
type failing int

const (
	works    failing = iota
	refuses          // nothing is changed
	tears            // half of a write is performed; nothing of any other change
	deceives         // the change is performed, but an error is returned
	loses            // for a sync: nothing happens, and later syncs of the file succeed without effect
)

func (f failing) String() string {
	return []string{"works", "refuses", "tears", "deceives", "loses"}[f]
}

// change is a modifying operation on a disk, with its sequence number.
type change struct {
	number int64
	kind   string // create, write, sync, rename, ...
	path   string
}

// faultyFS is a file system that calls decision before each change and fails as it returns.
type faultyFS struct {
	vfs.FS
	mu       sync.Mutex // held during decision, so that the disk does not change meanwhile
	count    int64
	decision func(change) (failing, error)
}

func (s *faultyFS) decide(kind, path string) (failing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return s.decision(change{s.count, kind, path})
}

// do performs or fails a change. lost marks files whose syncs have no effect.
func (s *faultyFS) do(kind, path string, lost *atomic.Bool, do func() error, half func() error) error {
	how, err := s.decide(kind, path)
	syncs := strings.HasPrefix(kind, "sync")
	switch {
	case syncs && lost != nil && lost.Load():
		return nil
	case how == works:
		return do()
	case how == deceives:
		_ = do() // the caller receives the injected error in any case
	case how == tears && half != nil:
		_ = half()
	case how == loses && syncs && lost != nil:
		lost.Store(true)
	}
	return err
}

func (s *faultyFS) file(kind, name string, open func() (vfs.File, error)) (f vfs.File, err error) {
	err = s.do(kind, name, nil, func() error {
		f, err = open()
		return err
	}, nil)
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		return nil, err
	}
	return &faultyFile{File: f, fs: s, path: name}, nil
}

func (s *faultyFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return s.file("create", name, func() (vfs.File, error) { return s.FS.Create(name, category) })
}

func (s *faultyFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return s.file("open to write", name, func() (vfs.File, error) { return s.FS.OpenReadWrite(name, category, o...) })
}

func (s *faultyFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return s.file("reuse", to, func() (vfs.File, error) { return s.FS.ReuseForWrite(from, to, category) })
}

func (s *faultyFS) OpenDir(name string) (vfs.File, error) {
	f, err := s.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: f, fs: s, path: name}, nil
}

func (s *faultyFS) Link(from, to string) error {
	return s.do("link", to, nil, func() error { return s.FS.Link(from, to) }, nil)
}

func (s *faultyFS) Remove(name string) error {
	return s.do("remove", name, nil, func() error { return s.FS.Remove(name) }, nil)
}

func (s *faultyFS) Rename(from, to string) error {
	return s.do("rename", to, nil, func() error { return s.FS.Rename(from, to) }, nil)
}

func (s *faultyFS) Unwrap() vfs.FS { return s.FS }

// faultyFile is a file of a faultyFS.
type faultyFile struct {
	vfs.File
	fs   *faultyFS
	path string
	lost atomic.Bool
}

func (f *faultyFile) Write(p []byte) (n int, err error) {
	err = f.fs.do("write", f.path, nil, func() error {
		n, err = f.File.Write(p)
		return err
	}, func() error {
		n, err = f.File.Write(p[:len(p)/2])
		return err
	})
	return n, err
}

func (f *faultyFile) WriteAt(p []byte, at int64) (n int, err error) {
	err = f.fs.do("write", f.path, nil, func() error {
		n, err = f.File.WriteAt(p, at)
		return err
	}, func() error {
		n, err = f.File.WriteAt(p[:len(p)/2], at)
		return err
	})
	return n, err
}

func (f *faultyFile) Sync() error { return f.fs.do("sync", f.path, &f.lost, f.File.Sync, nil) }
func (f *faultyFile) SyncData() error {
	return f.fs.do("sync data", f.path, &f.lost, f.File.SyncData, nil)
}

func (f *faultyFile) SyncTo(length int64) (full bool, err error) {
	err = f.fs.do("sync to", f.path, &f.lost, func() error {
		full, err = f.File.SyncTo(length)
		return err
	}, nil)
	return full, err
}
