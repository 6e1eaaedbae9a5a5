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
	// pebbleFormat is Pebble's format version; it is raised together with the layout.
	pebbleFormat = pebble.FormatValueSeparation
	// memTableBytes is the size at which a memtable is flushed to a table. A smaller size makes commits wait more
	// often: each new memtable closes one write-ahead log and opens the next. A larger one uses more memory under a
	// high write rate.
	memTableBytes = 16 << 20
	// cacheBytes is small because Load reads each block once.
	cacheBytes = 1 << 20
	// blockBytes bounds what is lost together when a table is damaged.
	blockBytes = 4 << 10
	// maxMemTables bounds memory when commits arrive faster than tables are written; further commits wait.
	maxMemTables = 8
)

// database is an open Pebble database and the guard through which it accesses the disk. Once the guard has stopped,
// the memory of Pebble may differ from the disk, and the log opens a new database in its place.
type database struct {
	dir   *directory
	kv    *pebble.DB // the key-value store
	guard *guard
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
	return &database{dir: d, kv: db, guard: g}, nil
}

// openAny opens the database, for writing if possible. If the disk is too full for that, it opens it read-only, with
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
		err = errors.Join(err, db.kv.Close())
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
		FormatMajorVersion:          pebbleFormat,
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

// apply makes a batch durable. Pebble reports success even if the guard has discarded its writes, so apply checks the
// guard too.
func (db *database) apply(batch *pebble.Batch) error {
	if err := db.guard.err(); err != nil {
		return err
	}
	if err := db.kv.Apply(batch, pebble.Sync); err != nil {
		db.guard.stop(err)
	}
	return db.guard.err()
}

// extent describes which commits a database holds.
type extent struct {
	// current is the revision of the last commit, and entry the value of its entry. If there are no entries, current
	// is the base revision and entry is nil.
	current object.Revision
	entry   []byte
	// trimmed is the revision before the oldest entry: see beforeFirst.
	trimmed object.Revision
}

// extent reads which commits the database holds.
func (db *database) extent() (e extent, err error) {
	base, last, err := newest(db.kv)
	if errors.Is(err, pebble.ErrNotFound) {
		return e, &fileError{"its list of files (MANIFEST-*) is truncated", "put it back", err}
	}
	if err != nil {
		return e, db.withDamagedTables(err)
	}
	e.current = base
	if last != nil {
		e.current, e.entry = last.revision, last.data
	}
	e.trimmed, err = beforeFirst(db.kv, e.current)
	return e, db.withDamagedTables(err)
}

// rawEntry is an entry read from the database.
type rawEntry struct {
	revision object.Revision
	data     []byte
}

// newest returns the base revision of a database and its last entry, or nil if it has no entries.
func newest(db *pebble.DB) (object.Revision, *rawEntry, error) {
	last, err := edge(db, (*pebble.Iterator).Last)
	if err != nil {
		return 0, nil, err
	}
	value, closer, err := db.Get(baseKey)
	switch {
	case pebble.IsCorruptionError(err) && last != nil:
		return 0, last, nil // the base is not needed if there is an entry
	case err != nil:
		return 0, nil, fmt.Errorf("its base revision is missing: %w", err)
	}
	defer closer.Close()
	number, ok := bytes.CutPrefix(value, []byte(factMagic))
	if !ok || len(number) != 8 {
		return 0, nil, fmt.Errorf("its base revision has the invalid value %q: %w", value, object.ErrDamaged)
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
func edge(db *pebble.DB, seek func(*pebble.Iterator) bool) (*rawEntry, error) {
	lower, upper := rowBounds(entries)
	i, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer i.Close()
	if !seek(i) {
		return nil, i.Error()
	}
	revision, err := splitEntryKey(i.Key())
	return &rawEntry{revision, bytes.Clone(i.Value())}, err
}

// writeBase writes the base revision into a new database.
func writeBase(db *pebble.DB, revision object.Revision) error {
	return db.Set(baseKey, baseValue(revision), pebble.Sync)
}

// baseValue returns the value of baseKey for a revision.
func baseValue(revision object.Revision) []byte {
	return binary.BigEndian.AppendUint64([]byte(factMagic), uint64(revision))
}
