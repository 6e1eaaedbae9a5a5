package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
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

// openBound opens the file to write to. Without it commits are as durable.
func (l *Log) openBound() {
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

// inspect looks at what a crash left before anything is written: where that is refused it stays as it is, and a file that is
// missing can be put back.
func (l *Log) inspect() error {
	options := l.options
	options.ReadOnly = true
	reader := &Log{dir: l.dir, options: options, lock: l.lock}
	err := reader.openAny()
	if err != nil {
		return err
	}
	if err = reader.locate(); err == nil {
		err = reader.mustEndRight()
	}
	if err == nil {
		err = reader.readHistory(reader.newHistory())
	}
	return errors.Join(err, reader.db.Close())
}

// mustEndRight refuses a database that ends before what was acknowledged, or, where that is accepted, goes on without it.
func (l *Log) mustEndRight() error {
	lost := &LostError{Acknowledged: readBound(l.options.FS, l.dir), Found: object.Revision(l.current.Load())}
	switch {
	case lost.Acknowledged <= lost.Found:
		return nil
	case !l.options.AcceptLoss:
		return fmt.Errorf("%w: a file of them (*.log) is damaged, cut short or missing: put it back, or restore a backup", lost)
	}
	l.options.Log.Warn("it goes on without commits that were acknowledged", "error", lost)
	if l.options.ReadOnly {
		return nil
	}
	return l.beginAfter(lost.Acknowledged)
}

// beginAfter lets revisions begin far above one that was given out, and forgets the history, which does not lead there. The
// states that it would have trimmed stay.
func (l *Log) beginAfter(acknowledged object.Revision) error {
	batch := l.db.NewBatch()
	defer batch.Close()
	lower, upper := bounds(entries)
	err := errors.Join(
		batch.DeleteRange(lower, upper, nil),
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
