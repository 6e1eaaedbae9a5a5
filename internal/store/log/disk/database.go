package disk

import (
	"bytes"
	"encoding/binary"
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

// open opens the database through a new guard.
func (l *Log) open(readOnly bool) (*pebble.DB, *guard, error) {
	g := newGuard(l.options.FS)
	options := l.databaseOptions(g)
	options.ReadOnly = readOnly
	db, err := pebble.Open(l.dir, options)
	if err != nil {
		return nil, nil, l.named(err)
	}
	if !readOnly {
		g.logsAreFlushed()
	}
	return db, g, nil
}

func (l *Log) databaseOptions(g *guard) *pebble.Options {
	o := &pebble.Options{
		FS:                          g,
		Lock:                        l.lock.folder,
		Logger:                      reporter{l.options.Log, g},
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
				l.options.Log.Error("a file of the store is damaged", "path", info.Path, "error", info.Details.Error())
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
