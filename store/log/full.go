package log

import "fmt"

// FullError is returned by Append when the medium has no room, which may change: the next Append is tried anew. None of the
// commits is durable nor ever will be, as with any other error.
type FullError struct {
	// Medium is what is full, as its user knows it, such as the path of a folder.
	Medium string
	// Err is what the medium said.
	Err error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("there is no room left for %s: %v", e.Medium, e.Err)
}

func (e *FullError) Unwrap() error { return e.Err }
