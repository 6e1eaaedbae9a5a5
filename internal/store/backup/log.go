package backup

import (
	"context"
	"errors"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/object"
)

// Log is the log of a store in memory that begins with what a backup has. Its revisions begin an epoch above the backup's.
type Log struct {
	*memory.Log
	from *Reader
	// Nameless is the damage that hit the keys of objects, so that it cannot be told which ones are missing; once the log is
	// loaded.
	Nameless []*DamagedError
}

var _ log.Log = (*Log)(nil)

// errBefore is why an object is damaged that the backup itself says is missing.
var errBefore = errors.New("it was damaged before the backup was made")

// Log makes a log of the objects, which were not read yet. What reads the backup must stay open until a store has loaded it.
func (b *Reader) Log() *Log { return &Log{Log: memory.After(b.head.Revision), from: b} }

// Load hands on the objects, and the damaged ones.
func (l *Log) Load(ctx context.Context, into log.Loading) (object.Revision, error) {
	for _, key := range l.from.head.Damaged {
		if err := into.Damaged(key, errBefore); err != nil {
			return 0, err
		}
	}
	for o, err := range l.from.Objects() {
		var damage *DamagedError
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err == nil:
			err = into.Live(o)
		case errors.As(err, &damage) && damage.Key == "":
			l.Nameless = append(l.Nameless, damage)
			err = nil
		case errors.As(err, &damage):
			err = into.Damaged(damage.Key, damage)
		}
		if err != nil {
			return 0, err
		}
	}
	return l.Log.Load(ctx, into)
}
