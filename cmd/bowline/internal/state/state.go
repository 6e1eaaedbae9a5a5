// Package state is the folder in which a server of this machine keeps what outlives it: its lock, its identity, its
// certificates, its kubeconfig and, in a folder of their own that package store/log/disk writes, the declared objects. The
// command up writes it; the command kubectl finds the running server through the user's own.
package state

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// fileMode is the mode of every file here: they are the user's alone.
const fileMode fs.FileMode = 0o600

// Folder is the path of a state folder.
type Folder string

// Default is the user's own folder: bowline under $XDG_STATE_HOME, or under ~/.local/state.
func Default() (Folder, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return Folder(filepath.Join(base, "bowline")), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot tell where to keep state: set HOME or XDG_STATE_HOME (%w)", err)
	}
	return Folder(filepath.Join(home, ".local", "state", "bowline")), nil
}

// At is the state folder of that path.
func At(dir string) (Folder, error) {
	path, err := filepath.Abs(dir)
	return Folder(path), err
}

// Objects is the folder for package store/log/disk.
func (f Folder) Objects() string { return f.path("objects") }

// Restoring is the folder for package store/log/disk while a backup is restored: it becomes that of objects once it has them all.
func (f Folder) Restoring() string { return f.Objects() + ".restoring" }

// Certificates is the folder for package pki.
func (f Folder) Certificates() string { return f.path("pki") }

// Kubeconfig is the file in which the server says how to reach it, unless it is told another.
func (f Folder) Kubeconfig() string { return f.path("kubeconfig") }

// Networks is the folder for the records of networks.
func (f Folder) Networks() string { return f.path("networks") }

// Ingress is the folder for the configuration and the certificates of the nginx that serves Ingresses.
func (f Folder) Ingress() string { return f.path("ingress") }

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

// ForeignFolderError says that a folder is in use for something else, and that nothing was put into it.
type ForeignFolderError struct {
	Folder Folder
	// Found is the name of something in it.
	Found string
}

func (e *ForeignFolderError) Error() string {
	return fmt.Sprintf("the folder %s holds %q and nothing of bowline's, and is left alone: "+
		"name a new folder or an empty one, or the one in which bowline up has kept its state", e.Folder, e.Found)
}

// prepare makes the folder where it is missing. One that holds other things alone is a *ForeignFolderError.
func (f Folder) prepare() error {
	if info, err := os.Stat(string(f)); err == nil && !info.IsDir() {
		return fmt.Errorf("the state folder %s is a file: name a folder, which is made where it is missing", f)
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("making the state folder: %w", err)
	}
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return fmt.Errorf("looking into the state folder: %w", err)
	}
	foreign := ""
	for _, e := range entries {
		switch path := f.path(e.Name()); path {
		case f.path("lock"), f.Identity(), f.Objects(), f.Certificates(), f.Kubeconfig(), f.Networks(), f.Ingress():
			return nil
		case f.path("lost+found"): // a file system of its own
		default:
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return &ForeignFolderError{Folder: f, Found: foreign}
	}
	return nil
}
