package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/bowline-dev/bowline/internal/durable"
)

// MustBeOf is an error where the folder is that of another plane: what that one made real would have nobody any more who knows
// it. The caller holds the lock.
func (f Folder) MustBeOf(planeID string) error {
	path := f.path("plane-id")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the identity of the plane: %w", err)
	}
	if id := strings.TrimSpace(string(text)); id != planeID {
		return fmt.Errorf("%s belongs to the plane %s, and the backup to %s: name another folder with --data, "+
			"or move %s away if nothing of that plane is left", f, id, planeID, path)
	}
	return nil
}

// KeepPlaneID makes the folder that of a plane, whose identity may be empty where nobody knows it: then PlaneID makes one. The
// caller holds the lock.
func (f Folder) KeepPlaneID(id string) error {
	if id == "" {
		return nil
	}
	if err := durable.WriteFile(f.path("plane-id"), []byte(id+"\n"), fileMode); err != nil {
		return fmt.Errorf("writing the identity of the plane: %w", err)
	}
	return nil
}
