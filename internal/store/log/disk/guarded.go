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

// discardFile is a file that discards writes and is empty.
type discardFile struct{}

func (discardFile) Close() error                           { return nil }
func (discardFile) Read([]byte) (int, error)               { return 0, io.EOF }
func (discardFile) ReadAt([]byte, int64) (int, error)      { return 0, io.EOF }
func (discardFile) Write(p []byte) (int, error)            { return len(p), nil }
func (discardFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (discardFile) Preallocate(int64, int64) error         { return nil }
func (discardFile) Stat() (vfs.FileInfo, error)            { return discardFileInfo{}, nil }
func (discardFile) Sync() error                            { return nil }
func (discardFile) SyncTo(int64) (bool, error)             { return true, nil }
func (discardFile) SyncData() error                        { return nil }
func (discardFile) Prefetch(int64, int64) error            { return nil }
func (discardFile) Fd() uintptr                            { return vfs.InvalidFd }

// discardFileInfo is the FileInfo of discardFile.
type discardFileInfo struct{}

func (discardFileInfo) Name() string           { return "discarded" }
func (discardFileInfo) Size() int64            { return 0 }
func (discardFileInfo) Mode() os.FileMode      { return 0 }
func (discardFileInfo) ModTime() time.Time     { return time.Time{} }
func (discardFileInfo) IsDir() bool            { return false }
func (discardFileInfo) Sys() any               { return nil }
func (discardFileInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
