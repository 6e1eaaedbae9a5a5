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

// Error names the operating system's reason alone, where Err has one: what was being written is of no use to a client.
func (e *FullError) Error() string {
	reason := e.Err
	var errno syscall.Errno
	if errors.As(e.Err, &errno) {
		reason = errno
	}
	return fmt.Sprintf("there is no room left for %s: %v", e.Medium, reason)
}

func (e *FullError) Unwrap() error { return e.Err }
