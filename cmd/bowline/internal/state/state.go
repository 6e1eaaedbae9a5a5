// Package state manages the folder in which a server stores its persistent files: lock, identity,
// certificates, kubeconfig and, in a subfolder written by package internal/store/log/disk, the objects. The
// command bowline up writes the folder; bowline kubectl finds the running server through the user's default
// folder.
package state

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// fileMode is the mode of all files in the folder, which only the user may access.
const fileMode fs.FileMode = 0o600

// Folder is the path of a state folder.
type Folder string

// Default returns the user's folder: bowline in $XDG_STATE_HOME, or in ~/.local/state.
func Default() (Folder, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return Folder(filepath.Join(base, "bowline")), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no state folder: set HOME or XDG_STATE_HOME (%w)", err)
	}
	return Folder(filepath.Join(home, ".local", "state", "bowline")), nil
}

// At returns the state folder at dir, as an absolute path.
func At(dir string) (Folder, error) {
	path, err := filepath.Abs(dir)
	return Folder(path), err
}

// Objects returns the folder of package internal/store/log/disk.
func (f Folder) Objects() string { return f.path("objects") }

// Restoring returns the folder of package internal/store/log/disk during a restore. It is renamed to Objects
// once it is complete.
func (f Folder) Restoring() string { return f.Objects() + ".restoring" }

// Certificates returns the folder of package pki.
func (f Folder) Certificates() string { return f.path("pki") }

// Kubeconfig returns the default path of the kubeconfig.
func (f Folder) Kubeconfig() string { return f.path("kubeconfig") }

// Networks returns the folder for the records of networks.
func (f Folder) Networks() string { return f.path("networks") }

// Ingress returns the folder for the configuration and the certificates of the nginx that serves Ingresses.
func (f Folder) Ingress() string { return f.path("ingress") }

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

// ForeignFolderError reports that a folder is in use for something else and was left unchanged.
type ForeignFolderError struct {
	Folder Folder
	// Found is the name of an entry in the folder.
	Found string
}

func (e *ForeignFolderError) Error() string {
	return fmt.Sprintf("the folder %s contains %q and no state of bowline, and was not changed: "+
		"name a new or empty folder, or a state folder of bowline up", e.Folder, e.Found)
}

// prepare creates the folder if it is missing, and restricts access to it. It returns a *ForeignFolderError if
// the folder contains only files that are not bowline's, and an *OwnerError if it is another user's.
func (f Folder) prepare() error {
	if err := f.create(); err != nil {
		return err
	}
	return f.secure()
}

func (f Folder) create() error {
	if info, err := os.Stat(string(f)); err == nil && !info.IsDir() {
		return fmt.Errorf("the state folder %s is a file: name a folder, which is created if it is missing", f)
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("creating the state folder: %w", err)
	}
	if err := checkOwner(string(f)); err != nil {
		return err
	}
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return fmt.Errorf("reading the state folder: %w", err)
	}
	foreign := ""
	for _, e := range entries {
		switch path := f.path(e.Name()); path {
		case f.path("lock"), f.Identity(), f.Objects(), f.Certificates(), f.Kubeconfig(), f.Networks(), f.Ingress():
			return nil
		case f.path("lost+found"): // the root of a file system has this folder
		default:
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return &ForeignFolderError{Folder: f, Found: foreign}
	}
	return nil
}
