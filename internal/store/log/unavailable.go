package log

import (
	"errors"
	"fmt"
	"syscall"
)

// FullError is returned by Append when the medium has no room, which may change: the next Append is tried anew. None of the
// commits is durable nor ever will be, as with any other error.
type FullError struct {
	// Medium is what is full, as its user knows it, such as the path of a folder.
	Medium string
	// Err is what the medium said.
	Err error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("there is no room left for %s: %v", e.Medium, reason(e.Err))
}

func (e *FullError) Unwrap() error { return e.Err }

// FailedError is FullError for a medium that fails in another way, and may work again.
type FailedError struct {
	// Medium is what failed, as its user knows it, such as the path of a folder.
	Medium string
	// Err is what the medium said.
	Err error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%s cannot be written to, since its disk fails: %v", e.Medium, reason(e.Err))
}

func (e *FailedError) Unwrap() error { return e.Err }

// reason is the operating system's alone, where it gave one: what was being written is of no use to a client.
func reason(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}
