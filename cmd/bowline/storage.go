package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store/log"
	"github.com/bowline-dev/bowline/store/log/disk"
)

// storage is a folder of objects that counts what it has; nil is memory.
type storage struct {
	*disk.Log
	folder string
	found  int // how many objects were there, once the log is loaded
}

// openStorage opens the home's folder of objects; nil for a home that has none.
func openStorage(home *home, to *slog.Logger) (*storage, error) {
	if home.objects == "" {
		return nil, nil
	}
	kept, err := disk.Open(home.objects, disk.Options{Log: to})
	if err != nil {
		return nil, err
	}
	return &storage{Log: kept, folder: home.objects}, nil
}

// Load implements log.Log. It counts what users know as objects, which all have a uid.
func (s *storage) Load(ctx context.Context, into log.Loading) (object.Revision, error) {
	live := into.Live
	into.Live = func(o *object.Object) error {
		if o.UID != "" {
			s.found++
		}
		return live(o)
	}
	return s.Log.Load(ctx, into)
}

// String is what people are told of it.
func (s *storage) String() string {
	switch {
	case s == nil:
		return "Objects are kept in memory, and are lost when bowline stops."
	case s.found == 0:
		return fmt.Sprintf("Objects are kept in %s, which is new.", s.folder)
	}
	return fmt.Sprintf("Objects are kept in %s: %d found.", s.folder, s.found)
}
