package disk

import (
	"io"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guarded is an open file of a guard. Reads go directly to the file.
type guarded struct {
	vfs.File
	guard *guard
}

func (f *guarded) Write(p []byte) (n int, err error) {
	return len(p), f.guard.change(func() error {
		_, err := f.File.Write(p)
		return err
	})
}

func (f *guarded) WriteAt(p []byte, at int64) (n int, err error) {
	return len(p), f.guard.change(func() error {
		_, err := f.File.WriteAt(p, at)
		return err
	})
}

func (f *guarded) Sync() error     { return f.guard.change(f.File.Sync) }
func (f *guarded) SyncData() error { return f.guard.change(f.File.SyncData) }

func (f *guarded) SyncTo(length int64) (full bool, err error) {
	err = f.guard.change(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close closes the file even after the guard has stopped. A failed close stops the guard, since it may report
// a failed write.
func (f *guarded) Close() error {
	if err := f.File.Close(); err != nil {
		f.guard.stop(err)
	}
	return nil
}

// nowhere is a file that discards writes and is empty.
type nowhere struct{}

func (nowhere) Close() error                           { return nil }
func (nowhere) Read([]byte) (int, error)               { return 0, io.EOF }
func (nowhere) ReadAt([]byte, int64) (int, error)      { return 0, io.EOF }
func (nowhere) Write(p []byte) (int, error)            { return len(p), nil }
func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nowhere) Preallocate(int64, int64) error         { return nil }
func (nowhere) Stat() (vfs.FileInfo, error)            { return nothing{}, nil }
func (nowhere) Sync() error                            { return nil }
func (nowhere) SyncTo(int64) (bool, error)             { return true, nil }
func (nowhere) SyncData() error                        { return nil }
func (nowhere) Prefetch(int64, int64) error            { return nil }
func (nowhere) Fd() uintptr                            { return vfs.InvalidFd }

// nothing is the FileInfo of nowhere.
type nothing struct{}

func (nothing) Name() string           { return "nowhere" }
func (nothing) Size() int64            { return 0 }
func (nothing) Mode() os.FileMode      { return 0 }
func (nothing) ModTime() time.Time     { return time.Time{} }
func (nothing) IsDir() bool            { return false }
func (nothing) Sys() any               { return nil }
func (nothing) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
