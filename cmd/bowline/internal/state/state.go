// Package state is the folder in which a server of this machine keeps what outlives it: its lock, its identity, its
// certificates and its kubeconfig. The command up writes it; the command kubectl finds the running server through it.
// It holds no declared object.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/bowline-dev/bowline/internal/durable"
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

// Certificates is the folder for package pki.
func (f Folder) Certificates() string { return f.path("pki") }

// Kubeconfig is the file in which the server says how to reach it, unless it is told another.
func (f Folder) Kubeconfig() string { return f.path("kubeconfig") }

// Networks is the folder for the records of networks.
func (f Folder) Networks() string { return f.path("networks") }

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

// PlaneID is the identity of this machine's plane, by which it knows its own again after a restart. The first call
// makes it. The caller holds the lock of the folder.
func (f Folder) PlaneID() (string, error) {
	path := f.path("plane-id")
	text, err := os.ReadFile(path)
	if err == nil {
		if id := strings.TrimSpace(string(text)); id != "" {
			return id, nil
		}
		return "", fmt.Errorf("%s is empty: restore it, or remove it to start as a new plane, "+
			"which will not know again what the old one made", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the identity of the plane: %w", err)
	}
	id := NewPlaneID()
	if err := durable.WriteFile(path, []byte(id+"\n"), fileMode); err != nil {
		return "", fmt.Errorf("writing the identity of the plane: %w", err)
	}
	return id, nil
}

// NewPlaneID is a random identity, for a plane that leaves nothing behind.
func NewPlaneID() string { return string(uuid.NewUUID()) }
