package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/object"
)

// boundFile says which revision was acknowledged last. Without it nobody could tell a write-ahead log that somebody cut short or
// removed from one whose end a crash has torn.
//
// It is written once a commit is durable and never synced: after a crash of the process it is exact, after one of the machine
// it may be behind, and it is never ahead of a disk that keeps what it has synced. So it costs no commit a sync, and whether it
// can be written is nobody's concern.
const boundFile = "DURABLE"

// LostError says that a store lacks commits that were acknowledged.
type LostError struct {
	Acknowledged, Found object.Revision
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the last commits of the store are lost: revision %d was acknowledged, and its files end at %d",
		e.Acknowledged, e.Found)
}

// bound is the text of the file.
func bound(acknowledged object.Revision) string {
	number := fmt.Sprintf("%020d", acknowledged)
	return fmt.Sprintf("%s %08x\n", number, crc32.ChecksumIEEE([]byte(number)))
}

// readBound is what the file says; 0 where it is not there, or a crash has torn it.
func readBound(fs vfs.FS, dir string) (acknowledged object.Revision) {
	text, err := readWhole(fs, dir, boundFile)
	if err != nil {
		return 0
	}
	if _, err = fmt.Sscanf(text, "%d", &acknowledged); err != nil || text != bound(acknowledged) {
		return 0
	}
	return acknowledged
}

// openBound opens the file to write to, anew where the disk has failed since. Without it commits are as durable.
func (l *Log) openBound() {
	if l.bound != nil {
		_ = l.bound.Close()
		l.bound = nil
	}
	f, err := l.options.FS.OpenReadWrite(path.Join(l.dir, boundFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		l.options.Log.Warn("the last revision is not kept beside the store", "folder", l.dir, "error", err)
		return
	}
	l.bound = f
}

// acknowledge writes the file. mu is held.
func (l *Log) acknowledge(revision object.Revision) {
	l.current.Store(uint64(revision))
	if l.bound != nil {
		_, _ = l.bound.WriteAt([]byte(bound(revision)), 0)
	}
}

// inspect reads where the database ends, and whether its commits follow one another, before it is opened to be written to, which
// begins with a new list of files: a store that is refused stays as it is, and a file of it that is missing can be put back. That a
// store was closed says nothing: its disk may have been full then, or somebody has changed its files since. Only migrations of an
// older layout come before. It is silent: who opens a store that is not refused says the same again.
func (l *Log) inspect() error {
	options := l.options
	options.ReadOnly, options.Log = true, slog.New(slog.DiscardHandler)
	reader := &Log{dir: l.dir, options: options, lock: l.lock}
	err := reader.openAny()
	if err != nil {
		return err
	}
	if err = reader.locate(); err == nil {
		err = reader.mustEndRight()
	}
	if err == nil {
		current := object.Revision(reader.current.Load())
		err = reader.readHistory(&history{after: current, current: current}) // of no commit more than its place counts
	}
	if err == nil && reader.lost() != nil {
		batch := reader.db.NewBatch()
		err = errors.Join(reader.forgetHistory(batch), batch.Close())
	}
	return errors.Join(err, reader.db.Close())
}

// lost is what the database lacks of what was acknowledged; nil if that is nothing.
func (l *Log) lost() *LostError {
	lost := &LostError{Acknowledged: readBound(l.options.FS, l.dir), Found: object.Revision(l.current.Load())}
	if lost.Acknowledged <= lost.Found {
		return nil
	}
	return lost
}

// mustEndRight refuses a database that ends before what was acknowledged, or, where that is accepted, goes on without it.
func (l *Log) mustEndRight() error {
	lost := l.lost()
	switch {
	case lost == nil:
		return nil
	case !l.options.AcceptLoss:
		return fmt.Errorf("%w: a file of them (*.log), or the list of all files (MANIFEST-*), is damaged, cut short or missing: "+
			"put it back, or restore a backup", lost)
	case !l.options.ReadOnly && l.failure != nil:
		return fmt.Errorf("%v: to go on without them, the store must be written to: %w", lost, l.failure)
	}
	l.options.Log.Warn("it goes on without commits that were acknowledged", "error", lost)
	if l.options.ReadOnly {
		return nil
	}
	return l.beginAfter(lost.Acknowledged)
}

// beginAfter lets revisions begin far above one that was given out, and forgets the history, which does not lead there.
func (l *Log) beginAfter(acknowledged object.Revision) error {
	batch := l.db.NewBatch()
	defer batch.Close()
	err := errors.Join(
		l.forgetHistory(batch),
		batch.Set(baseKey, base(object.NextEpoch(acknowledged, time.Now())), nil),
	)
	if err == nil {
		err = l.db.Apply(batch, pebble.Sync)
	}
	if err = errors.Join(err, l.guard.err()); err != nil {
		return err
	}
	return l.locate()
}

// forgetHistory adds to a batch what lets go of all commits. It fails where one cannot be read: a state that it replaced would stay,
// and be taken for the newest of its object once that was deleted and its deletion forgotten.
func (l *Log) forgetHistory(batch *pebble.Batch) error {
	lower, upper := bounds(entries)
	if err := l.forgetCommits(batch, lower, upper); err != nil {
		return fmt.Errorf("its last commits are lost, and to go on without them takes the commits before, which cannot be read "+
			"(what is there can be backed up, and restored): %w", l.located(err))
	}
	return nil
}
