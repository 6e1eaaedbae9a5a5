package disk

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options configure a log. The zero value is usable.
type Options struct {
	// FS is the file system of the directory; nil means the operating system's.
	FS vfs.FS
	// Log receives failures and recoveries; nil discards them.
	Log *slog.Logger
	// HistoryAge limits the age of the changes that Load delivers, and should match the store's history; 0
	// means 5 minutes.
	HistoryAge time.Duration
	// MustExist makes Open return ErrNoStore instead of creating a store.
	MustExist bool
	// ReadOnly opens an existing store without changing a byte of its directory; appends fail. Other readers
	// are allowed at the same time, writers are not. The lock works only between processes: a process that
	// writes to a directory must not also open it for reading, and one that opens it for reading several
	// times loses its lock when it closes the first.
	ReadOnly bool
	// AcceptLoss makes Open continue without acknowledged commits that are missing, instead of returning
	// *LostError. New revisions then start one epoch above the lost revisions.
	AcceptLoss bool
}

// filled returns the options with defaults applied.
func (o Options) filled() Options {
	switch {
	case o.FS == nil && o.ReadOnly:
		o.FS = sharedFS{vfs.Default}
	case o.FS == nil:
		o.FS = privateFS{vfs.Default}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.HistoryAge = cmp.Or(o.HistoryAge, 5*time.Minute)
	return o
}
