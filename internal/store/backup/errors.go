package backup

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/object"
)

// ErrForeign is returned for what is no backup at all.
var ErrForeign = errors.New("this is no backup of bowline: it does not begin as one does")

// VersionError is returned for a backup of a layout that this program does not know.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the backup is of version %s, and this bowline reads up to %d: use the bowline that wrote it, or a newer one",
		e.Version, version)
}

// CutError is returned for a backup that ends too early.
type CutError struct {
	// Read is how many objects were whole; Objects is how many there were to be.
	Read, Objects int
}

func (e *CutError) Error() string {
	if e.Objects == 0 {
		return "the backup is cut short: it ends within its head"
	}
	return fmt.Sprintf("the backup is cut short: it ends without its trailer, after %d of %d objects", e.Read, e.Objects)
}

// DamagedError is returned in the place of an object that is not as it was written. What follows it can be read.
type DamagedError struct {
	// Key is that of the object; empty when the damage is in it.
	Key object.Key
	// After is the key of the object before it, where Key is empty; it is empty at the beginning.
	After object.Key
	// Offset is where in the stream it stands, in bytes.
	Offset int64
	// Reason says what is wrong, as a sentence goes on after a colon.
	Reason string
}

func (e *DamagedError) Error() string {
	if e.Key == "" {
		where := "the first object"
		if e.After != "" {
			where = "the object after " + string(e.After)
		}
		return fmt.Sprintf("%s, at byte %d of the backup, is damaged: %s", where, e.Offset, e.Reason)
	}
	return fmt.Sprintf("%s, at byte %d of the backup, is damaged: %s", e.Key, e.Offset, e.Reason)
}

// wrongError is a backup that reads, and yet cannot be right.
type wrongError struct{ reason string }

func (e *wrongError) Error() string { return "the backup is damaged: " + e.reason }
