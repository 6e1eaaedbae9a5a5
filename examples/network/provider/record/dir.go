package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// Dir is an FS in a folder on disk. Names and symbolic links that lead out of the folder are errors.
type Dir string

// tempPrefix starts the names of files that are being written. List returns such a file of a killed process
// under its final name, so that it is either rewritten or removed.
const tempPrefix = ".new."

// List implements FS. A folder that does not exist is empty.
func (d Dir) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(e.Name(), tempPrefix))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Read implements FS.
func (d Dir) Read(name string) ([]byte, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(name)
}

// Write implements FS. Write creates a temporary file and renames it, so that no reader sees a partial
// record. It does not sync: a record lost in a power failure differs from the declaration, and is written
// again.
func (d Dir) Write(name string, data []byte) error {
	root, err := os.OpenRoot(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(string(d), 0o755); err == nil {
			root, err = os.OpenRoot(string(d))
		}
	}
	if err != nil {
		return err
	}
	defer root.Close()
	temp := tempPrefix + name
	if err := root.WriteFile(temp, data, 0o644); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return root.Rename(temp, name)
}

// Remove implements FS.
func (d Dir) Remove(name string) error {
	root, err := os.OpenRoot(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for _, file := range []string{tempPrefix + name, name} {
		if err := root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Watch implements FS with the operating system's file events.
func (d Dir) Watch(ctx context.Context, changed func(name string)) error {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch folder %s: %w", d, err)
	}
	defer w.Close()
	if err := w.Add(string(d)); err != nil {
		return fmt.Errorf("watch folder %s: %w", d, err)
	}
	changed("")
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch folder %s: %w", d, err)
			}
			changed("")
		case e := <-w.Events:
			if e.Name == filepath.Clean(string(d)) && e.Op.Has(fsnotify.Remove|fsnotify.Rename) {
				return fmt.Errorf("watch folder %s: it was removed", d)
			}
			changed(filepath.Base(e.Name))
		}
	}
}
