// Package disk stores the objects of a plane in a directory; pass the result of Open as bowline.Options.Storage.
// Objects survive restarts of the process and crashes of the machine: the server answers a write after it has been
// synced to the disk. Only one process at a time can open a directory.
//
// The package links a database (Pebble), so programs whose objects are only in memory should not import it.
// docs/store.md describes the files and what happens when a disk fails.
package disk

import (
	"log/slog"

	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// Options configures Open. The zero value works.
type Options struct {
	// Logger receives records about failures of the disk and their end; nil discards them.
	Logger *slog.Logger
	// MustExist makes Open return ErrNotExist instead of creating storage in an empty or missing directory.
	MustExist bool
	// AcceptLoss opens storage that lacks acknowledged commits; without it, Open returns a *LostError. New
	// revisions begin far above the lost ones.
	AcceptLoss bool
}

// Storage is the opened storage in one directory. A plane that is started with a Storage closes it. Without a plane,
// the caller of Open must call Close.
type Storage = disk.Log

// InUseError reports that another process, or another Storage of this process, has opened the directory.
type InUseError = disk.InUseError

// LostError reports that acknowledged commits are missing, for example in a copy of a directory that was in use.
type LostError = disk.LostError

// ErrNotExist reports that Options.MustExist is set and the directory has no storage.
var ErrNotExist = disk.ErrNoStore

// Open opens the storage in dir, and creates the directory and the storage if they do not exist. Open returns an error
// and changes nothing if the directory has other files or was written by a newer version. Test for *InUseError and
// *LostError with errors.As and for ErrNotExist with errors.Is.
func Open(dir string, options Options) (*Storage, error) {
	return disk.Open(dir, disk.Options{
		Log: options.Logger, MustExist: options.MustExist, AcceptLoss: options.AcceptLoss,
	})
}
