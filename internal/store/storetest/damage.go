package storetest

import (
	"context"
	"errors"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// ErrDamage is the error that a Damaged log reports for unreadable objects.
var ErrDamage = errors.New("some of its bits have changed")

// Damaged is a log that reports the objects of some keys as unreadable when it is loaded, as after disk
// corruption.
type Damaged struct {
	log.Log
	Keys []object.Key
}

// Load implements log.Log.
func (d *Damaged) Load(ctx context.Context, into log.Loading) (object.Revision, error) {
	lost := map[object.Key]bool{}
	for _, key := range d.Keys {
		lost[key] = true
		if err := into.Damaged(key, ErrDamage); err != nil {
			return 0, err
		}
	}
	live := into.Live
	into.Live = func(o *object.Object) error {
		if lost[o.Key] {
			return nil
		}
		return live(o)
	}
	return d.Log.Load(ctx, into)
}
