package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bowline-dev/bowline/internal/durable"
)

// keyMode is the mode of all files: each contains a private key.
const keyMode fs.FileMode = 0o600

// maxPair is larger than any file of a pair, in bytes.
const maxPair = 64 << 10

// folder stores pairs in files. The zero value stores nothing, for pairs in memory.
type folder string

// read returns the pair of that name, or nil if the file does not exist. It removes other users' read permission from
// the file.
func (f folder) read(name string) (*Pair, error) {
	text, err := f.readText(name)
	if text == nil || err != nil {
		return nil, err
	}
	pair, err := decode(text)
	if err != nil {
		return nil, &damagedError{path: f.path(name), err: err}
	}
	return pair, nil
}

// readText returns the contents of the file of that name like read, or nil if it does not exist.
func (f folder) readText(name string) ([]byte, error) {
	if f == "" {
		return nil, nil
	}
	path := f.path(name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Mode().Perm() != keyMode {
		if err := os.Chmod(path, keyMode); err != nil {
			return nil, fmt.Errorf("restricting access to a private key: %w", err)
		}
	}
	text, err := durable.ReadFile(path, maxPair)
	if errors.Is(err, durable.ErrTooLarge) {
		return nil, &damagedError{path: path, err: err}
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// write replaces the pair of that name atomically: after a crash either the old or the new file exists.
func (f folder) write(name string, pair *Pair) error {
	if f == "" {
		return nil
	}
	text, err := pair.encode()
	if err != nil {
		return err
	}
	return f.writeText(name, text)
}

// writeText replaces the file of that name like write.
func (f folder) writeText(name string, text []byte) error {
	if f == "" {
		return nil
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	if err := durable.WriteFile(f.path(name), text, keyMode); err != nil {
		return fmt.Errorf("writing %s: %w", f.path(name), err)
	}
	return nil
}

func (f folder) path(name string) string { return filepath.Join(string(f), name+".pem") }

// damagedError reports a file that exists but cannot be used.
type damagedError struct {
	path string
	err  error
}

func (e *damagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.path, e.err) }

func (e *damagedError) Unwrap() error { return e.err }
