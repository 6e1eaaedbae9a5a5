package log

import (
	"errors"
	"fmt"
	"syscall"
)

// FullError is returned by Append when the medium is full. The condition may be temporary: a later Append
// may succeed. As with any other error, none of the commits is durable nor ever will be.
type FullError struct {
	// Medium is the full medium as the user knows it, such as the path of a directory.
	Medium string
	// Err is the error of the medium.
	Err error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("there is no room left for %s: %v", e.Medium, reason(e.Err))
}

func (e *FullError) Unwrap() error { return e.Err }

// FailedError is like FullError, for a medium that fails for another reason and may recover.
type FailedError struct {
	// Medium is the failed medium as the user knows it, such as the path of a directory.
	Medium string
	// Err is the error of the medium.
	Err error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%s cannot be written to, since its disk fails: %v", e.Medium, reason(e.Err))
}

func (e *FailedError) Unwrap() error { return e.Err }

// reason returns only the operating system's error if err wraps one: the failed file or call is of no use to
// a client.
func reason(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}
