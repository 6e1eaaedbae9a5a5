// Package durable writes small files so that a crash, at whatever point, leaves the old file or the new one, whole. It is
// for what a plane keeps beside its objects: keys, certificates, its identity, a kubeconfig. Package auth/pki and the
// bowline command call it. It keeps no object and locks nothing: whoever writes a file by several processes at a time
// locks its folder.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile puts a whole file of that mode in place, whatever the process' umask, in a folder that exists. Nobody ever
// sees part of it, and when WriteFile has returned nil it outlives a crash of the machine. After an error there is the old
// file, or none if there was none; only when the error is of the folder's own sync may the new one be there already.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	folder, name := filepath.Split(path)
	if folder == "" {
		folder = "."
	}
	// It begins with a dot and has a random end: no reader takes it for a file of the folder.
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

// Rename renames a file or a folder that is whole and durable itself, within a folder. When it has returned nil the new name
// outlives a crash of the machine.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return sync(filepath.Dir(to))
}

// sync makes the renames in a folder outlive a crash of the machine.
func sync(folder string) error {
	directory, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
