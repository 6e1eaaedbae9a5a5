package backup

import (
	"context"
	"errors"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// Log is a log in memory that starts with the contents of a backup. Its revisions start one epoch above the
// backup's.
type Log struct {
	*memory.Log
	from *Reader
	// Nameless holds, after Load, the damaged entries whose keys are lost, so that the missing objects are
	// unknown.
	Nameless []*DamagedError
	// AcceptInconsistent makes Load deliver objects that contradict their keys. Otherwise it reports them as damaged.
	AcceptInconsistent bool
}

var _ log.Log = (*Log)(nil)

// errBefore is the reason for objects that the backup itself lists as damaged.
var errBefore = errors.New("it was damaged before the backup")

// Log returns a log of the objects, none of which may have been read yet. The reader's stream must stay open
// until a store has loaded the log.
func (b *Reader) Log() *Log { return &Log{Log: memory.After(b.head.Revision), from: b} }

// Load delivers the objects and reports the damaged ones.
func (l *Log) Load(ctx context.Context, into log.Loading) (object.Revision, error) {
	for _, key := range l.from.head.Damaged {
		if err := into.Damaged(key, errBefore); err != nil {
			return 0, err
		}
	}
	for o, err := range l.from.Objects() {
		var damage *DamagedError
		var inconsistent *InconsistentError
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err == nil, errors.As(err, &inconsistent) && l.AcceptInconsistent:
			err = into.Live(o)
		case inconsistent != nil:
			err = into.Damaged(inconsistent.Key, inconsistent)
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
