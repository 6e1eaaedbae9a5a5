package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Errors of Open and ReadFile, wrapped in an *fs.PathError.
var (
	// ErrIrregular means that the path names a folder, a pipe, a socket or a device.
	ErrIrregular = errors.New("it is no regular file")
	// ErrTooLarge means that the file has more bytes than the caller allows.
	ErrTooLarge = errors.New("it is too large")
)

// Open opens a regular file, or a link to one, for reading. It neither opens a device, which may act on it, nor waits
// for the writer of a pipe.
func Open(path string) (*os.File, error) {
	irregular := &fs.PathError{Op: "open", Path: path, Err: ErrIrregular}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, irregular
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() { // it was replaced meanwhile
		err = irregular
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// ReadFile reads a file of at most so many bytes that Open can open.
func ReadFile(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, most)}
	}
	return text, err
}
