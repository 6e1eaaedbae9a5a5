// Package durable writes small files such that a crash at any point leaves either the old or the new file,
// complete, and reads them without waiting for the writer of a pipe in their place. It is used for the files that a
// plane has besides its objects: keys, certificates, its identity, a kubeconfig. Package internal/auth/pki and the
// bowline command call it. It does no locking: processes that write the same file must lock its directory.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces a file in an existing directory atomically, with exactly the given mode regardless of
// umask. Readers never see part of it. When WriteFile returns nil, the file survives a crash of the machine.
// After an error the old file is unchanged, or absent if there was none; only if the sync of the directory
// fails, the new file may be in place already.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	folder, name := filepath.Split(path)
	if folder == "" {
		folder = "."
	}
	// The name begins with a dot and ends in random characters, so that readers of the directory ignore the
	// file.
	file, err := os.CreateTemp(folder, "."+name+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	if err := errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return Rename(file.Name(), path)
}

// Rename renames a file or directory that is already durable, within its directory. When it returns nil, the
// new name survives a crash of the machine.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return sync(filepath.Dir(to))
}

// sync makes renames in a directory survive a crash of the machine.
func sync(folder string) error {
	directory, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
