package backup

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/internal/object"
)

// ErrForeign is returned for a stream that is not a backup.
var ErrForeign = errors.New("not a backup of bowline: unknown file header")

// VersionError is returned for a backup with a version that this program does not support.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the backup has version %s, but this bowline reads up to %d: use the bowline that wrote it, "+
		"or a newer one",
		e.Version, version)
}

// CutError is returned for a backup that ends prematurely.
type CutError struct {
	// Read is the number of objects read; Objects is the expected number, 0 if the head is incomplete.
	Read, Objects int
}

func (e *CutError) Error() string {
	if e.Objects == 0 {
		return "the backup is cut short: it ends within its head"
	}
	return fmt.Sprintf("the backup is cut short: it ends without its trailer, after %d of %d objects", e.Read,
		e.Objects)
}

// DamagedError is returned in place of a damaged object. Reading may continue after it.
type DamagedError struct {
	// Key is the key of the object; empty if the key is damaged.
	Key object.Key
	// After is the key of the previous object if Key is empty; it is empty at the start.
	After object.Key
	// Offset is the position of the object in the stream, in bytes.
	Offset int64
	// Reason describes the damage, in a form that can follow a colon.
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

// InconsistentError is returned with an object whose metadata contradicts the key under which it is stored. No server
// writes such an object, and clients trust its name and uid. Reading may continue after it.
type InconsistentError struct {
	Key object.Key
	// Reason describes the contradiction, in a form that can follow a colon.
	Reason string
}

func (e *InconsistentError) Error() string {
	return fmt.Sprintf("%s is inconsistent: %s", e.Key, e.Reason)
}

// wrongError reports a backup that can be decoded but is inconsistent.
type wrongError struct{ reason string }

func (e *wrongError) Error() string { return "the backup is damaged: " + e.reason }
