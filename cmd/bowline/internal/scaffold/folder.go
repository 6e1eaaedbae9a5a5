package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Check returns an error if Write cannot create the folder. The folder must be missing or empty, and its
// parent must exist.
func Check(folder string) error {
	entries, err := os.ReadDir(folder)
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s exists and contains %s: nothing was changed; choose another name or folder", folder,
			describeEntries(entries))
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot be the project's folder: %w", folder, err)
	}
	if _, err := os.Lstat(folder); err == nil {
		return fmt.Errorf("%s is a link to a missing folder: create that, or choose another folder", folder)
	}
	if _, err := os.Stat(filepath.Dir(folder)); err != nil {
		return fmt.Errorf("cannot create %s: %w", folder, err)
	}
	return nil
}

// describeEntries describes the entries of a folder.
func describeEntries(entries []fs.DirEntry) string {
	if len(entries) == 1 {
		return entries[0].Name()
	}
	return fmt.Sprintf("%s and %d more", entries[0].Name(), len(entries)-1)
}

// Write creates a folder with files, whose paths are slash-separated. It first writes all files to a
// temporary folder, and then moves that folder into place. If Write fails, the folder is missing or empty, as
// before.
func Write(folder string, files map[string][]byte) (err error) {
	if err := Check(folder); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("nothing was created: %w", err)
		}
	}()
	if _, err := os.Lstat(folder); err == nil {
		return fillEmpty(folder, files)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(folder), ".bowline-new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	project := filepath.Join(temporary, "whole")
	if err := fill(project, files); err != nil {
		return err
	}
	return os.Rename(project, folder)
}

// unfinished is the temporary folder inside of an existing folder. Its fixed name serves as a lock: of
// several processes that fill the same folder, only one can create it.
const unfinished = ".bowline-new"

// fillEmpty fills an existing empty folder in place. The folder is not replaced, because it may be the
// working directory of a shell or on another file system than its parent.
func fillEmpty(folder string, files map[string][]byte) (err error) {
	temporary := filepath.Join(folder, unfinished)
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	if err := fill(temporary, files); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if len(entries) > 1 { // another process has written to the folder
		return fmt.Errorf("%s is no longer empty", folder)
	}
	return moveAll(temporary, folder)
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

// moveAll moves all entries of a folder into another one. If one fails, it removes those already moved.
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
