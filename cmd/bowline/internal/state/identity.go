package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/bowline-dev/bowline/internal/durable"
)

// NewPlaneID is a random identity, for a plane that begins.
func NewPlaneID() string { return string(uuid.NewUUID()) }

// Identity is the file with the identity of the plane: by it the plane knows again, after a restart, what it made real. Its
// objects tell it too. The file is there once objects are, so that a folder with it and without them has lost them.
func (f Folder) Identity() string { return f.path("plane-id") }

// PlaneID is the identity of the folder's plane, empty where it has none yet. The caller holds the lock of the folder.
func (f Folder) PlaneID() (string, error) {
	text, err := os.ReadFile(f.Identity())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the identity of the plane: %w", err)
	}
	id := strings.TrimSpace(string(text))
	if id == "" {
		return "", fmt.Errorf("%s is empty: restore it, or remove it, and the objects of the plane tell who it is", f.Identity())
	}
	return id, nil
}

// MustBeOf is an error where the folder is that of another plane: what that one made real would have nobody any more who knows
// it. The caller holds the lock.
func (f Folder) MustBeOf(planeID string) error {
	id, err := f.PlaneID()
	if err != nil || id == "" || id == planeID {
		return err
	}
	return fmt.Errorf("%s belongs to the plane %s, and the backup to %s: name another folder with --data, "+
		"or move %s away if nothing of that plane is left", f, id, planeID, f.Identity())
}

// KeepPlaneID makes the folder that of a plane. An empty identity, which nobody knows, is not kept: the plane chooses one when it
// begins. The caller holds the lock.
func (f Folder) KeepPlaneID(id string) error {
	if id == "" {
		return nil
	}
	if err := durable.WriteFile(f.Identity(), []byte(id+"\n"), fileMode); err != nil {
		return fmt.Errorf("writing the identity of the plane: %w", err)
	}
	return nil
}
