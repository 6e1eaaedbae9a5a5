package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/bowline-dev/bowline/internal/object"
)

const (
	// format is Pebble's format version; it is raised together with the layout.
	format = pebble.FormatValueSeparation
	// memTableBytes is the size at which a memtable is flushed to a table. Each rotation makes one commit
	// wait for two files to be closed and opened, and under a high write rate as much memory is in use.
	memTableBytes = 16 << 20
	// cacheBytes is small because nothing is read twice.
	cacheBytes = 1 << 20
	// blockBytes bounds what is lost together when a table is damaged.
	blockBytes = 4 << 10
	// maxMemTables bounds memory when commits arrive faster than tables are written; further commits wait.
	maxMemTables = 8
)

// database is an open database and the guard that it accesses the disk through. After the guard has stopped,
// a database's memory may differ from the disk, and the log replaces the database by a new one.
type database struct {
	dir    *directory
	pebble *pebble.DB
	guard  *guard
}

// open opens the database through a new guard.
func (d *directory) open(readOnly bool) (*database, error) {
	g := newGuard(d.options.FS)
	options := d.databaseOptions(g)
	options.ReadOnly = readOnly
	db, err := pebble.Open(d.path, options)
	if err != nil {
		return nil, d.nameDamage(err)
	}
	if !readOnly {
		g.logsAreFlushed()
	}
	return &database{dir: d, pebble: db, guard: g}, nil
}

// openAny opens the database. If the disk is too full to open it for writing, openAny opens it read-only, with
// a stopped guard.
func (d *directory) openAny() (*database, error) {
	if d.options.ReadOnly {
		return d.open(true)
	}
	if err := d.inspect(); err != nil {
		return nil, err
	}
	db, err := d.open(false)
	if err == nil {
		if err = db.guard.err(); err == nil {
			return db, nil
		}
		err = errors.Join(err, db.pebble.Close())
	}
	if !isFull(err) {
		return nil, err
	}
	db, unread := d.open(true)
	if unread != nil {
		return nil, errors.Join(err, unread)
	}
	db.guard.stop(err)
	return db, nil
}

func (d *directory) databaseOptions(g *guard) *pebble.Options {
	o := &pebble.Options{
		FS:                          g,
		Lock:                        d.lock.folder,
		Logger:                      reporter{d.options.Log, g},
		FormatMajorVersion:          format,
		CacheSize:                   cacheBytes,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: maxMemTables,
		// Nothing is read between two starts, so compaction need not optimize for reads.
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 1 << 20,
		LBaseMaxBytes:         256 << 20,
		BytesPerSync:          1 << 20,
		MaxOpenFiles:          500,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) {
				if !pebble.IsCorruptionError(err) { // corruption is reported by DataCorruption
					g.stop(err)
				}
			},
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				d.options.Log.Error("a file of the store is damaged", "path", info.Path, "error", info.Details.Error())
			},
		},
	}
	for i := range o.Levels {
		o.Levels[i].Compression = func() *block.CompressionProfile { return block.NoCompression }
		o.Levels[i].BlockSize = blockBytes
	}
	return o
}

// reporter receives Pebble's log messages. It drops informational ones and treats a fatal one as a failure of
// the file system.
type reporter struct {
	log   *slog.Logger
	guard *guard
}

func (r reporter) Infof(string, ...any) {}

func (r reporter) Errorf(format string, args ...any) {
	r.log.Warn("the store's database: " + fmt.Sprintf(format, args...))
}

// Fatalf stops the guard, so that no later write of the database reaches the disk.
func (r reporter) Fatalf(format string, args ...any) { r.guard.stop(fmt.Errorf(format, args...)) }

// apply makes a batch durable. A success reported by the database counts only if its file system has not
// failed.
func (db *database) apply(batch *pebble.Batch) error {
	if err := db.guard.err(); err != nil {
		return err
	}
	if err := db.pebble.Apply(batch, pebble.Sync); err != nil {
		db.guard.stop(err)
	}
	return db.guard.err()
}

// end is where the commits of a database end.
type end struct {
	// current is the revision of the last commit, and entry its entry; without commits, current is the base
	// revision and entry is nil.
	current object.Revision
	entry   []byte
	// trimmed is the revision before the oldest entry: see beforeFirst.
	trimmed object.Revision
}

// end reads where the commits end.
func (db *database) end() (e end, err error) {
	base, last, err := newest(db.pebble)
	if errors.Is(err, pebble.ErrNotFound) {
		return e, &fileError{"its list of files (MANIFEST-*) is cut short", "put it back", err}
	}
	if err != nil {
		return e, db.withDamagedTables(err)
	}
	e.current = base
	if last != nil {
		e.current, e.entry = last.revision, last.data
	}
	e.trimmed, err = beforeFirst(db.pebble, e.current)
	return e, db.withDamagedTables(err)
}

// found is an entry read from the database.
type found struct {
	revision object.Revision
	data     []byte
}

// newest returns the base revision of a database and its last entry, or nil if it has no entries.
func newest(db *pebble.DB) (object.Revision, *found, error) {
	last, err := edge(db, (*pebble.Iterator).Last)
	if err != nil {
		return 0, nil, err
	}
	value, closer, err := db.Get(baseKey)
	switch {
	case pebble.IsCorruptionError(err) && last != nil:
		return 0, last, nil // the base is not needed if there is an entry
	case err != nil:
		return 0, nil, fmt.Errorf("the revision that it began at is missing: %w", err)
	}
	defer closer.Close()
	number, ok := bytes.CutPrefix(value, []byte(factMagic))
	if !ok || len(number) != 8 {
		return 0, nil, fmt.Errorf("the revision that it began at is %q: %w", value, object.ErrDamaged)
	}
	return object.Revision(binary.BigEndian.Uint64(number)), last, nil
}

// beforeFirst returns the revision before the oldest entry, current if there are no entries, and never if the
// oldest entry cannot be read.
func beforeFirst(db *pebble.DB, current object.Revision) (object.Revision, error) {
	first, err := edge(db, (*pebble.Iterator).First)
	switch {
	case pebble.IsCorruptionError(err):
		return never, nil
	case first == nil || err != nil:
		return current, err
	}
	return first.revision - 1, nil
}

// edge returns the first or last entry, nil if there are none.
func edge(db *pebble.DB, seek func(*pebble.Iterator) bool) (*found, error) {
	lower, upper := bounds(entries)
	i, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer i.Close()
	if !seek(i) {
		return nil, i.Error()
	}
	revision, err := splitEntryKey(i.Key())
	return &found{revision, bytes.Clone(i.Value())}, err
}

// start writes the base revision into a new database.
func start(db *pebble.DB, revision object.Revision) error {
	return db.Set(baseKey, base(revision), pebble.Sync)
}

// base returns the value of baseKey for a revision.
func base(revision object.Revision) []byte {
	return binary.BigEndian.AppendUint64([]byte(factMagic), uint64(revision))
}
