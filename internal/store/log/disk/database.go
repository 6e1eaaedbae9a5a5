package disk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/bowline-dev/bowline/object"
)

const (
	// format is what Pebble writes its files in; it is raised together with the layout.
	format = pebble.FormatValueSeparation
	// memTableBytes is what is written before a table is made of it. Each time, a commit waits for two files to be
	// closed and opened; and as much memory is held, once there are many writes.
	memTableBytes = 16 << 20
	// cacheBytes is small: nothing is read twice.
	cacheBytes = 1 << 20
	// blockBytes is what is lost together where a table is damaged.
	blockBytes = 4 << 10
	// maxMemTables bounds the memory when tables are not written as fast as commits come, which then wait.
	maxMemTables = 8
)

// open opens the database behind a guard of its own.
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
		// Nothing is read between two starts, so nothing has to be compacted for the sake of reading.
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 1 << 20,
		LBaseMaxBytes:         256 << 20,
		BytesPerSync:          1 << 20,
		MaxOpenFiles:          500,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) {
				if !pebble.IsCorruptionError(err) { // of which DataCorruption tells
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

// reporter takes what the database says. It says little of interest, and what it calls fatal is that its file system failed.
type reporter struct {
	log   *slog.Logger
	guard *guard
}

func (r reporter) Infof(string, ...any) {}

func (r reporter) Errorf(format string, args ...any) {
	r.log.Warn("the store's database: " + fmt.Sprintf(format, args...))
}

// Fatalf stops the guard: what the database does in its confusion reaches the disk no more.
func (r reporter) Fatalf(format string, args ...any) { r.guard.stop(fmt.Errorf(format, args...)) }

// found is an entry in the database.
type found struct {
	revision object.Revision
	data     []byte
}

// newest reads at which revision a database began, and its last entry, nil if there is none.
func newest(db *pebble.DB) (object.Revision, *found, error) {
	last, err := edge(db, (*pebble.Iterator).Last)
	if err != nil {
		return 0, nil, err
	}
	value, closer, err := db.Get(baseKey)
	switch {
	case pebble.IsCorruptionError(err) && last != nil:
		return 0, last, nil // nobody needs to know where it began
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

// beforeFirst is the revision before the oldest entry, or the current one if there is none; never if it cannot be read.
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

// edge is the first or last entry, nil if there is none.
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

// start writes the first fact into a new database: where its revisions begin.
func start(db *pebble.DB, revision object.Revision) error {
	return db.Set(baseKey, base(revision), pebble.Sync)
}

// base is the fact of where revisions begin.
func base(revision object.Revision) []byte {
	return binary.BigEndian.AppendUint64([]byte(factMagic), uint64(revision))
}
