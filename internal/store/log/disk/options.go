package disk

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options say how a log uses its folder. The zero value works.
type Options struct {
	// FS is where the folder is; the operating system's when nil.
	FS vfs.FS
	// Log hears what goes wrong and how it ends; nobody does when nil.
	Log *slog.Logger
	// HistoryAge is how far back Load hands on changes: as far as the store keeps them; 5 minutes when 0.
	HistoryAge time.Duration
	// MustExist makes no store where there is none, but returns ErrNoStore.
	MustExist bool
	// ReadOnly changes no byte of the folder, in which a store must be: nothing can be appended. Others may read it at the same
	// time, and nobody may write. Only processes are kept apart: one that writes to a folder must not read it by a second log,
	// and one that reads it by several must not rely on its lock once the first of them is closed.
	ReadOnly bool
	// AcceptLoss goes on where commits that were acknowledged are not there any more: *LostError otherwise. Revisions begin
	// far above theirs then.
	AcceptLoss bool
}

// filled are the options with what they leave out.
func (o Options) filled() Options {
	switch {
	case o.FS == nil && o.ReadOnly:
		o.FS = shared{vfs.Default}
	case o.FS == nil:
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.HistoryAge = cmp.Or(o.HistoryAge, 5*time.Minute)
	return o
}
