package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Check says whether Write may make that folder: it must not be there, or be empty, and its parent must be there.
func Check(folder string) error {
	entries, err := os.ReadDir(folder)
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s is there already, with %s in it: nothing of it was changed; choose another name or folder", folder, some(entries))
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot be the project's folder: %w", folder, err)
	}
	parent := filepath.Dir(folder)
	if _, err := os.Stat(parent); err != nil {
		return fmt.Errorf("%s cannot be made: %w", folder, err)
	}
	return nil
}

// some names what is in a folder.
func some(entries []fs.DirEntry) string {
	if len(entries) == 1 {
		return entries[0].Name()
	}
	return fmt.Sprintf("%s and %d more", entries[0].Name(), len(entries)-1)
}

// Write makes a folder of files, whose paths have slashes. They are written beside it and moved into place when all are there:
// when something fails there is no such folder, or it is empty as it was before.
func Write(folder string, files map[string][]byte) (err error) {
	if err := Check(folder); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(filepath.Dir(folder), "."+filepath.Base(folder)+"-")
	if err != nil {
		return fmt.Errorf("nothing was made: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside)) }()
	whole := filepath.Join(beside, "whole")
	if err := fill(whole, files); err != nil {
		return fmt.Errorf("nothing was made: %w", err)
	}
	if _, err := os.Stat(folder); err == nil {
		return moveInto(folder, whole)
	}
	return os.Rename(whole, folder)
}

func fill(folder string, files map[string][]byte) error {
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moveInto moves what is in a folder into an empty one, which may be where somebody's shell is; all of it, or nothing.
func moveInto(empty, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if err := os.Rename(filepath.Join(from, entry.Name()), filepath.Join(empty, entry.Name())); err != nil {
			err = fmt.Errorf("nothing was made: %w", err)
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.RemoveAll(filepath.Join(empty, moved.Name())))
			}
			return err
		}
	}
	return nil
}
