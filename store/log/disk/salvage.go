package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// A table is damaged when a block of it is not what its checksum says. The database then reads nothing of the block, nor what
// other tables have of the same keys. But a state has checksums of its own, and one bit that changed is in one of them: so the
// block is read as it is, with a checksum that fits, and what is damaged in it is found, and named, by itself.

// mend is what is read of a file in the place of what it holds from an offset on. The file stays as it is.
type mend struct {
	at    int64
	bytes [block.TrailerLen]byte
}

// mend puts right what was read of a file from an offset on.
func (g *guard) mend(name string, read []byte, from int64) {
	mends := g.mends.Load()
	if mends == nil {
		return
	}
	for _, m := range (*mends)[name] {
		for i, b := range m.bytes {
			if at := m.at + int64(i) - from; at >= 0 && at < int64(len(read)) {
				read[at] = b
			}
		}
	}
}

// reading reads from the database, and reads again where damaged blocks were mended for it.
func (l *Log) reading(read func() error) error {
	err := survive(read)
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	mended, unmended := l.salvage()
	if mended == 0 || unmended != nil {
		return errors.Join(err, unmended)
	}
	return survive(read)
}

// survive makes an error of a panic: a block that is read although it is damaged may say anything of itself.
func survive(read func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a damaged block cannot be read: %v", r)
		}
	}()
	return read()
}

// named adds to an error of opening the database which write-ahead log is damaged, if one is, since the database does not say.
// Nothing can be salvaged there: what commits after the damage rest on is unknown.
func (l *Log) named(err error) error {
	if !pebble.IsCorruptionError(err) {
		return err
	}
	logs, unlisted := wal.Scan(wal.Dir{FS: l.options.FS, Dirname: l.dir})
	if unlisted != nil {
		return errors.Join(err, unlisted)
	}
	for _, log := range logs {
		if at, damage := readLog(log); damage != nil && !errors.Is(damage, io.EOF) {
			return fmt.Errorf("commits cannot be read, from byte %d of %s on: restore a backup: %w", at.Physical, at.PhysicalFile, err)
		}
	}
	return err
}

// readLog reads a write-ahead log to where it ends.
func readLog(log wal.LogicalLog) (at wal.Offset, err error) {
	r := log.OpenForRead()
	defer r.Close()
	for err == nil {
		var record io.Reader
		if record, at, err = r.NextRecord(); err == nil {
			_, err = io.Copy(io.Discard, record)
		}
	}
	return at, err
}

// salvage mends the damaged blocks of all tables, and says how many those are.
func (l *Log) salvage() (mended int, err error) {
	levels, err := l.db.SSTables()
	if err != nil {
		return 0, err
	}
	mends := map[string][]mend{}
	for _, tables := range levels {
		for _, table := range tables {
			name := path.Join(l.dir, fmt.Sprintf("%06d.sst", uint64(table.BackingSSTNum)))
			found, bad := damagedBlocks(l.options.FS, name)
			if bad != nil {
				err = errors.Join(err, fmt.Errorf("%s, with keys from %q to %q: %w", name, table.Smallest.UserKey, table.Largest.UserKey, bad))
			}
			if len(found) > 0 {
				l.options.Log.Error("a file of the store is damaged", "path", name, "blocks", len(found),
					"from", string(table.Smallest.UserKey), "to", string(table.Largest.UserKey))
				mends[name] = found
				mended += len(found)
			}
		}
	}
	l.guard.mends.Store(&mends)
	return mended, err
}

// damagedBlocks finds the blocks of a table whose checksums are not theirs, and the checksums that would be.
func damagedBlocks(fs vfs.FS, name string) (found []mend, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	layout, err := r.Layout()
	if err != nil {
		return nil, err
	}
	for _, data := range layout.Data {
		handle := data.Handle
		bytes := make([]byte, handle.Length+block.TrailerLen)
		if _, err := f.ReadAt(bytes, int64(handle.Offset)); err != nil {
			return found, err
		}
		if block.ValidateChecksum(block.ChecksumTypeCRC32c, bytes, handle) != nil {
			sum := block.Checksummer{Type: block.ChecksumTypeCRC32c}
			fits := sum.Checksum(bytes[:handle.Length], byte(block.NoCompressionIndicator))
			found = append(found, mend{int64(handle.Offset + handle.Length), block.MakeTrailer(byte(block.NoCompressionIndicator), fits)})
		}
	}
	return found, nil
}
