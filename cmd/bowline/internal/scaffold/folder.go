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
	if _, err := os.Lstat(folder); err == nil {
		return fmt.Errorf("%s is a link to a folder that is not there: make that, or choose another folder", folder)
	}
	if _, err := os.Stat(filepath.Dir(folder)); err != nil {
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

// Write makes a folder of files, whose paths have slashes. They are written to a place of their own and moved from there when all
// are written: when something fails there is no such folder, or it is empty as it was before.
func Write(folder string, files map[string][]byte) (err error) {
	if err := Check(folder); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("nothing was made: %w", err)
		}
	}()
	if _, err := os.Lstat(folder); err == nil {
		return fillEmpty(folder, files)
	}
	beside, err := os.MkdirTemp(filepath.Dir(folder), ".bowline-new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside)) }()
	whole := filepath.Join(beside, "whole")
	if err := fill(whole, files); err != nil {
		return err
	}
	return os.Rename(whole, folder)
}

// unfinished is where files are written within a folder that is there. Its name is always the same: one of several that fill the same
// folder makes it, and the others cannot.
const unfinished = ".bowline-new"

// fillEmpty fills a folder that is there, which may be where somebody's shell is, and need not be on the disk that its parent is on.
func fillEmpty(folder string, files map[string][]byte) (err error) {
	within := filepath.Join(folder, unfinished)
	if err := os.Mkdir(within, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(within)) }()
	if err := fill(within, files); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if len(entries) > 1 { // somebody was quicker
		return fmt.Errorf("%s is not empty any more", folder)
	}
	return moveAll(within, folder)
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

// moveAll moves what is in a folder into another; all of it, or nothing.
func moveAll(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if err := os.Rename(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.RemoveAll(filepath.Join(to, moved.Name())))
			}
			return err
		}
	}
	return nil
}
