package disk

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/wal"
)

// A database reads its write-ahead logs when it is opened. A writable database flushes them to tables; a
// read-only one holds their contents only in memory. Other logs in the directory are obsolete, waiting to
// be removed or recycled, and their contents may be outdated. Only the logs that the database opens are
// current.

// noteLog records a file that the database opens if it is a write-ahead log.
func (g *guard) noteLog(name string) {
	if strings.HasSuffix(name, ".log") {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.unflushed = append(g.unflushed, name)
	}
}

// logsAreFlushed discards the recorded logs after they were flushed to tables.
func (g *guard) logsAreFlushed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unflushed = nil
}

// logs returns, in order, the write-ahead logs whose contents the database has only in memory.
func (g *guard) logs() (wal.Logs, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var logs wal.FileAccumulator
	for _, name := range g.unflushed {
		if _, err := logs.MaybeAccumulate(g.FS, name); err != nil {
			return nil, err
		}
	}
	return logs.Finish(), nil
}

// addUnflushed adds the rows of a key range that are in no table yet. All of them are newer than those in
// tables. Range deletions occur only for entries.
func (r *reader) addUnflushed(lower, upper []byte, rows map[string]row) error {
	logs, err := r.db.guard.logs()
	if err != nil {
		return err
	}
	for _, log := range logs {
		err := readRows(log, func(kind pebble.InternalKeyKind, key, value []byte) (err error) {
			if bytes.Compare(key, lower) < 0 || bytes.Compare(key, upper) >= 0 {
				return nil
			}
			found := row{deleted: kind == pebble.InternalKeyKindDelete, number: math.MaxUint64}
			if !found.deleted {
				found.state, err = r.decodeValue(key, value)
			}
			rows[string(key)] = found
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readRows passes the rows of a write-ahead log to take in write order, up to its end, which may be torn by a
// crash.
func readRows(log wal.LogicalLog, take func(kind pebble.InternalKeyKind, key, value []byte) error) (err error) {
	r := log.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		written, _, err := r.NextRecord()
		if errors.Is(err, io.EOF) || errors.Is(err, record.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(written)
		if err != nil {
			return err
		}
		batch := batchrepr.Read(data)
		kind, key, value, ok, err := batch.Next()
		for ; ok; kind, key, value, ok, err = batch.Next() {
			if err := take(kind, key, value); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}
