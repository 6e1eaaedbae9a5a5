package state

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/bowline-dev/bowline/internal/durable"
	"github.com/bowline-dev/bowline/internal/object"
)

// NewPlaneID returns a random identity for a new plane.
func NewPlaneID() string { return string(uuid.NewUUID()) }

// Identity returns the path of the file with the plane's identity. After a restart, the plane uses the
// identity to recognize the external resources that it created. The identity is also the UID of the namespace
// kube-system. bowline up writes the file after the objects, so a folder that has the file but no objects has
// lost them.
func (f Folder) Identity() string { return f.path("plane-id") }

// maxIdentity is larger than the file of an identity, in bytes.
const maxIdentity = 4 << 10

// PlaneID returns the identity in the folder, or an empty string if it has none yet. The caller holds the
// lock of the folder.
func (f Folder) PlaneID() (string, error) {
	text, err := durable.ReadFile(f.Identity(), maxIdentity)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the identity of the plane: %w", err)
	}
	id := strings.TrimSpace(string(text))
	if id == "" {
		return "",
			fmt.Errorf("%s is empty: restore it, or remove it, so that it is written again from the objects of the "+
				"plane",
				f.Identity())
	}
	if !object.ValidUID(types.UID(id)) { // controllers make names of external resources from it
		return "", fmt.Errorf("%s contains %q, which cannot be the identity of a plane: restore it, or remove it, so "+
			"that it is written again from the objects of the plane", f.Identity(), id)
	}
	return id, nil
}

// CheckPlaneID returns an error if the folder belongs to another plane. Taking the folder over would orphan the
// external resources that the other plane created. The caller holds the lock.
func (f Folder) CheckPlaneID(planeID string) error {
	id, err := f.PlaneID()
	if err != nil || id == "" || id == planeID {
		return err
	}
	return fmt.Errorf("%s belongs to the plane %s, but the backup to %s: name another folder with --data, "+
		"or move %s away if nothing of that plane is left", f, id, planeID, f.Identity())
}

// WritePlaneID writes the plane's identity to the folder. It ignores an empty identity; the plane then chooses
// one when it starts. The caller holds the lock.
func (f Folder) WritePlaneID(id string) error {
	if id == "" {
		return nil
	}
	if err := durable.WriteFile(f.Identity(), []byte(id+"\n"), fileMode); err != nil {
		return fmt.Errorf("writing the identity of the plane: %w", err)
	}
	return nil
}
