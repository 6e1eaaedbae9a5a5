package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/source"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// kubeSystem is the key of the namespace whose UID is the identity of the plane.
const kubeSystem object.Key = "/namespaces//kube-system"

// storage is an object store on disk that counts the loaded objects and checks which plane they belong to. A
// nil storage stands for objects in memory.
type storage struct {
	*disk.Log
	folder  state.Folder
	planeID string // after Load, the identity of the loaded objects
	named   bool   // whether the folder has an identity file
	found   int    // after Load, the number of loaded objects with a UID
}

// openStorage opens the object store of home, or returns nil if home has no folder. It creates a missing
// store only if the folder has no identity file, that is for a new plane. Losses accepted by acceptDamage are
// logged to to.
func openStorage(home *serve.Home, acceptDamage bool, to *slog.Logger) (*storage, error) {
	if home.Folder == "" {
		return nil, nil
	}
	id, err := home.Folder.PlaneID()
	if err != nil {
		return nil, err
	}
	if err := checkRestored(home.Folder); err != nil {
		return nil, err
	}
	s := &storage{folder: home.Folder, planeID: cmp.Or(id, state.NewPlaneID()), named: id != ""}
	s.Log, err = disk.Open(s.folder.Objects(), disk.Options{Log: to, MustExist: s.named, AcceptLoss: acceptDamage})
	if errors.Is(err, disk.ErrNoStore) {
		return nil,
			fmt.Errorf("the objects of the plane that %s identifies are missing: %w. Put the folder back, or "+
				"restore a backup with "+
				"bowline restore. To start a new plane without objects, move that file away; the new plane does "+
				"not manage the resources that the old one created; nothing was changed", s.folder.Identity(), err)
	}
	if err != nil {
		return nil, source.ExplainLoss(err)
	}
	return s, nil
}

// checkRestored returns an error if a restore into the folder was interrupted. Without this check, the plane
// would start empty although the user meant to restore its objects.
func checkRestored(folder state.Folder) error {
	if _, err := os.Stat(folder.Restoring()); err != nil {
		return nil
	}
	if _, err := os.Stat(folder.Objects()); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("restoring a backup into %s was interrupted: run bowline restore --data %[1]s FILE again. "+
		"To start without objects, remove %s", folder, folder.Restoring())
}

// Load implements log.Log. It counts the objects with a UID, which are those visible to users, and fails if
// they belong to another plane.
func (s *storage) Load(ctx context.Context, into log.Loading) (object.Revision, error) {
	live, damaged := into.Live, into.Damaged
	into.Live = func(o *object.Object) error {
		if o.UID != "" {
			s.found++
		}
		if o.Key == kubeSystem {
			if err := s.identify(string(o.UID)); err != nil {
				return err
			}
		}
		return live(o)
	}
	into.Damaged = func(key object.Key, err error) error {
		if key == kubeSystem && !s.named {
			return fmt.Errorf("the plane of the objects is unknown: the file %s is missing, and %s cannot be read: "+
				"put the file back, or restore a backup: %w", s.folder.Identity(), key, err)
		}
		return damaged(key, err)
	}
	return s.Log.Load(ctx, into)
}

// identify sets planeID to the identity found in the loaded objects. It fails if the identity file names
// another plane.
func (s *storage) identify(planeID string) error {
	if s.named && planeID != s.planeID {
		return fmt.Errorf("the objects in %s are those of the plane %s, and %s names the plane %s: put back the "+
			"one that matches "+
			"the other; nothing was changed", s.folder.Objects(), planeID, s.folder.Identity(), s.planeID)
	}
	s.planeID = planeID
	return nil
}

// writeIdentity writes the identity file if it is missing. The caller calls it after the objects are on disk,
// so an identity file without objects proves that objects were lost.
func (s *storage) writeIdentity() error {
	if s.named {
		return nil
	}
	return s.folder.WritePlaneID(s.planeID)
}

// String describes the storage in the output of bowline up.
func (s *storage) String() string {
	switch {
	case s == nil:
		return "Objects are stored in memory and lost when bowline stops."
	case s.found == 0:
		return fmt.Sprintf("Objects are stored in %s, which is new.", s.folder.Objects())
	}
	return fmt.Sprintf("Objects are stored in %s: %d found.", s.folder.Objects(), s.found)
}
