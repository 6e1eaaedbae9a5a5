package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// located adds to an error of reading which tables are damaged.
func (l *Log) located(err error) error {
	if !pebble.IsCorruptionError(err) {
		return err
	}
	levels, unlisted := l.db.SSTables()
	if unlisted != nil {
		return errors.Join(err, unlisted)
	}
	for _, table := range slices.Concat(levels...) {
		name := l.tableName(table)
		if n, unread := countDamaged(l.options.FS, name); n > 0 || unread != nil {
			err = fmt.Errorf("%w\n%s is damaged, which has keys from %q to %q (%d blocks; %v): restore a backup",
				err, name, table.Smallest.UserKey, table.Largest.UserKey, n, unread)
		}
	}
	return err
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

// countDamaged counts the damaged blocks of a table.
func countDamaged(fs vfs.FS, name string) (n int, err error) {
	blocks, err := readBlocks(fs, name)
	for _, b := range blocks {
		if b.damaged {
			n++
		}
	}
	return n, err
}

// rawBlock is a block of a table as it lies on the disk; it is damaged if its checksum is not its own.
type rawBlock struct {
	bytes   []byte
	damaged bool
}

// readBlocks reads the blocks of a table, in the order of their keys.
func readBlocks(fs vfs.FS, name string) (blocks []rawBlock, err error) {
	r, err := openTable(fs, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	layout, err := r.Layout()
	if err != nil {
		return nil, err
	}
	for _, data := range layout.Data {
		bytes := make([]byte, data.Length+block.TrailerLen)
		if _, err := f.ReadAt(bytes, int64(data.Offset)); err != nil {
			return blocks, err
		}
		bad := block.ValidateChecksum(block.ChecksumTypeCRC32c, bytes, data.Handle) != nil
		blocks = append(blocks, rawBlock{bytes[:data.Length:data.Length], bad})
	}
	return blocks, nil
}

func (l *Log) tableName(table pebble.SSTableInfo) string {
	return path.Join(l.dir, fmt.Sprintf("%06d.sst", uint64(table.BackingSSTNum)))
}

// openTable opens a table; to close the reader closes its file.
func openTable(fs vfs.FS, name string) (*sstable.Reader, error) {
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
	return r, nil
}
