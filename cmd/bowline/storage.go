package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/object"
)

// kubeSystem is the namespace whose uid is the identity of a plane.
const kubeSystem object.Key = "/namespaces//kube-system"

// storage is a folder of objects that counts what it has, and knows whose they are; nil is memory.
type storage struct {
	*disk.Log
	folder  state.Folder
	planeID string // once the log is loaded, that of its objects
	named   bool   // whether the folder has a file with the identity
	found   int    // how many objects were there, once the log is loaded
}

// openStorage opens the home's folder of objects; nil for a home that has none. Only a plane that begins gets a new one.
// What acceptDamage accepts is told to the log.
func openStorage(home *home, acceptDamage bool, to *slog.Logger) (*storage, error) {
	if home.folder == "" {
		return nil, nil
	}
	id, err := home.folder.PlaneID()
	if err != nil {
		return nil, err
	}
	if err := restored(home.folder); err != nil {
		return nil, err
	}
	s := &storage{folder: home.folder, planeID: cmp.Or(id, state.NewPlaneID()), named: id != ""}
	s.Log, err = disk.Open(s.folder.Objects(), disk.Options{Log: to, MustExist: s.named, AcceptLoss: acceptDamage})
	if errors.Is(err, disk.ErrNoStore) {
		return nil, fmt.Errorf("the objects of the plane that %s names are missing: %w. Put the folder back, or restore a backup with "+
			"bowline restore. To begin with no objects, move that file away: what begins then is a new plane, which leaves alone "+
			"what this one has made; nothing was changed", s.folder.Identity(), err)
	}
	if err != nil {
		return nil, lost(err)
	}
	return s, nil
}

// lost adds to the error of a store without its last commits how to go on.
func lost(err error) error {
	if _, ok := errors.AsType[*disk.LostError](err); !ok {
		return err
	}
	return fmt.Errorf("%w, or go on without them with --accept-damage; nothing was changed", err)
}

// restored is an error where a restore was cut off: who meant to have a plane's objects is not to begin without them.
func restored(folder state.Folder) error {
	if _, err := os.Stat(folder.Restoring()); err != nil {
		return nil
	}
	if _, err := os.Stat(folder.Objects()); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("a backup was being restored into %s, and that was cut off: run bowline restore --data %[1]s FILE again. "+
		"To begin with no objects, remove %s", folder, folder.Restoring())
}

// Load implements log.Log. It counts what users know as objects, which all have a uid, and refuses those of another plane.
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
			return fmt.Errorf("nobody knows whose objects there are: the file %s is missing, and %s cannot be read: put the file back, "+
				"or restore a backup: %w", s.folder.Identity(), key, err)
		}
		return damaged(key, err)
	}
	return s.Log.Load(ctx, into)
}

// identify takes the identity that the objects tell, or refuses it.
func (s *storage) identify(planeID string) error {
	if s.named && planeID != s.planeID {
		return fmt.Errorf("the objects in %s are those of the plane %s, and %s names the plane %s: put back the one that belongs to "+
			"the other; nothing was changed", s.folder.Objects(), planeID, s.folder.Identity(), s.planeID)
	}
	s.planeID = planeID
	return nil
}

// keepIdentity writes the file with the identity where it is missing. It comes after the objects: whoever finds it knows that
// they were there.
func (s *storage) keepIdentity() error {
	if s.named {
		return nil
	}
	return s.folder.KeepPlaneID(s.planeID)
}

// String is what people are told of it.
func (s *storage) String() string {
	switch {
	case s == nil:
		return "Objects are kept in memory, and are lost when bowline stops."
	case s.found == 0:
		return fmt.Sprintf("Objects are kept in %s, which is new.", s.folder.Objects())
	}
	return fmt.Sprintf("Objects are kept in %s: %d found.", s.folder.Objects(), s.found)
}
