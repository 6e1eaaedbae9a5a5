// Package disk opens the storage of a plane in a directory, for bowline.Options.Storage. Objects survive restarts of
// the process and crashes of the machine: a write is answered when it has been synced. A directory has one writer at a
// time.
//
// The package links a database (Pebble); programs that hold objects in memory need not import it. docs/store.md
// describes the files and what happens when a disk fails.
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
	// AcceptLoss opens storage that lacks acknowledged commits, for which Open otherwise returns a *LostError. New
	// revisions begin far above the lost ones.
	AcceptLoss bool
}

// Storage is an opened folder. A plane that is started with a Storage owns and closes it.
type Storage = disk.Log

// InUseError is returned by Open if another process has opened the directory.
type InUseError = disk.InUseError

// LostError is returned by Open if commits that were acknowledged are missing, as after copying a directory in use.
type LostError = disk.LostError

// ErrNotExist is returned by Open with MustExist if the directory has no storage.
var ErrNotExist = disk.ErrNoStore

// Open opens the storage in dir and creates both if there is none. It leaves a directory with other content, or one
// that a newer version has written, unchanged and returns an error. The error is *InUseError if another process has
// opened it.
func Open(dir string, options Options) (*Storage, error) {
	return disk.Open(dir, disk.Options{
		Log: options.Logger, MustExist: options.MustExist, AcceptLoss: options.AcceptLoss,
	})
}
