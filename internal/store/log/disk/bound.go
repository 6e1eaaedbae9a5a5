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

	"github.com/bowline-dev/bowline/internal/object"
)

// boundFile records the last acknowledged revision. Without it, a write-ahead log that was truncated or
// removed could not be distinguished from one with a torn end after a crash.
//
// It is written after each commit is durable and never synced. After a process crash it is exact; after a
// machine crash it may be behind, but it is never ahead of a disk that preserves synced data. It therefore
// costs no extra sync per commit, and a failure to write it is ignored.
const boundFile = "DURABLE"

// LostError reports that a store lacks commits that were acknowledged.
type LostError struct {
	// Acknowledged is the last revision that the store acknowledged, and Found the last one it still has.
	Acknowledged, Found object.Revision
}

// Error names both revisions.
func (e *LostError) Error() string {
	return fmt.Sprintf("the last commits of the store are lost: revision %d was acknowledged, and its files end at %d",
		e.Acknowledged, e.Found)
}

// bound returns the contents of the file.
func bound(acknowledged object.Revision) string {
	number := fmt.Sprintf("%020d", acknowledged)
	return fmt.Sprintf("%s %08x\n", number, crc32.ChecksumIEEE([]byte(number)))
}

// readBound returns the recorded revision, or 0 if the file is missing or torn.
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

// openBound opens the file for writing, again after a disk failure. Commits are durable without it.
func (l *Log) openBound() {
	if l.bound != nil {
		_ = l.bound.Close()
		l.bound = nil
	}
	f, err := l.options.FS.OpenReadWrite(path.Join(l.dir, boundFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		l.options.Log.Warn("writing the last revision beside the store failed", "folder", l.dir, "error", err)
		return
	}
	l.bound = f
}

// acknowledge stores the revision as current and writes the file. The caller holds mu.
func (l *Log) acknowledge(revision object.Revision) {
	l.current.Store(uint64(revision))
	if l.bound != nil {
		_, _ = l.bound.WriteAt([]byte(bound(revision)), 0)
	}
}

// inspect opens the database read-only before it is opened for writing, and checks that its commits are
// consecutive and include all acknowledged ones. Opening for writing creates a new MANIFEST; a store that is
// refused must stay unchanged, so that a missing file can be put back. inspect also checks a store that was
// closed cleanly: its disk may have been full at that time, or its files may have been modified since. Only
// migrations of an older layout run earlier. inspect does not log, because opening the store reports the same
// findings again.
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
		err = reader.readHistory(&history{after: current, current: current}) // only checks continuity
	}
	if err == nil && reader.lost() != nil {
		batch := reader.db.NewBatch()
		err = errors.Join(reader.forgetHistory(batch), batch.Close())
	}
	return errors.Join(err, reader.db.Close())
}

// lost returns the acknowledged commits that the database lacks, or nil if it has all of them.
func (l *Log) lost() *LostError {
	lost := &LostError{Acknowledged: readBound(l.options.FS, l.dir), Found: object.Revision(l.current.Load())}
	if lost.Acknowledged <= lost.Found {
		return nil
	}
	return lost
}

// mustEndRight rejects a database that lacks acknowledged commits, or continues without them if AcceptLoss is
// set.
func (l *Log) mustEndRight() error {
	lost := l.lost()
	switch {
	case lost == nil:
		return nil
	case !l.options.AcceptLoss:
		return fmt.Errorf("%w: a file of them (*.log), or the list of all files (MANIFEST-*), is damaged, cut "+
			"short or missing: "+
			"put it back, or restore a backup", lost)
	case !l.options.ReadOnly && l.failure != nil:
		return fmt.Errorf("%v: to go on without them, the store must be written to: %w", lost, l.failure)
	}
	l.options.Log.Warn("continuing without acknowledged commits", "error", lost)
	if l.options.ReadOnly {
		return nil
	}
	return l.beginAfter(lost.Acknowledged)
}

// beginAfter starts revisions one epoch above an acknowledged one and discards the history, which would have
// a gap.
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

// forgetHistory adds the deletion of all commits' history to a batch. It fails if a commit cannot be read: a
// state that the commit replaced would remain, and would become the newest of its object once the object is
// deleted and the deletion trimmed.
func (l *Log) forgetHistory(batch *pebble.Batch) error {
	lower, upper := bounds(entries)
	if err := l.forgetCommits(batch, lower, upper); err != nil {
		return fmt.Errorf("its last commits are lost, and to go on without them takes the commits before, which "+
			"cannot be read "+
			"(what is there can be backed up, and restored): %w", l.located(err))
	}
	return nil
}
