package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// fileError is an error of the database, with a description of the faulty file and of the remedy.
type fileError struct {
	problem, remedy string
	cause           error
}

func (e *fileError) Error() string {
	cause, _, _ := strings.Cut(e.cause.Error(), "\n") // the other lines are details of the database
	return fmt.Sprintf("%s: %s, or restore a backup: %s", e.problem, e.remedy, cause)
}

func (e *fileError) Unwrap() error { return e.cause }

// withDamagedTables adds the names of the damaged tables to a read error.
func (db *database) withDamagedTables(err error) error {
	if !pebble.IsCorruptionError(err) {
		return err
	}
	levels, unlisted := db.kv.SSTables()
	if unlisted != nil {
		return errors.Join(err, unlisted)
	}
	var damaged []string
	for _, table := range slices.Concat(levels...) {
		name := db.dir.tableName(table)
		if n, unread := countDamaged(db.dir.options.FS, name); n > 0 || unread != nil {
			damaged = append(damaged, fmt.Sprintf("its file %s is damaged, which holds %s to %s",
				path.Base(name), rowName(table.Smallest.UserKey), rowName(table.Largest.UserKey)))
		}
	}
	if len(damaged) == 0 {
		return err
	}
	return &fileError{strings.Join(damaged, "\n"), "put it back", err}
}

// rowName formats a database key for an error message.
func rowName(key []byte) string {
	if o, _, err := splitVersionKey(key); err == nil {
		return string(o)
	}
	if revision, err := splitEntryKey(key); err == nil {
		return fmt.Sprintf("commit %d", revision)
	}
	return strconv.Quote(string(key))
}

// nameDamage adds the name of the damaged or missing file to an error of opening the database, if it can be
// determined. Errors that the operating system returns for other reasons are returned unchanged.
func (d *directory) nameDamage(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != syscall.ENOENT {
		return err
	}
	name, what := d.damagedFile(err)
	if name == "" {
		return &fileError{"its files cannot be read", "put the original files back", err}
	}
	if what == "" {
		what = "is damaged"
		if _, statErr := d.options.FS.Stat(path.Join(d.path, name)); errors.Is(statErr, fs.ErrNotExist) {
			what = "is missing"
		}
	}
	return &fileError{fmt.Sprintf("its file %s %s", name, what), "put it back", err}
}

// fileNumber matches the number of a MANIFEST or a table in an error message of the database.
var fileNumber = regexp.MustCompile(`MANIFEST-\d+|\b\d{6,9}\b`)

// damagedFile determines the file that caused an error of opening the database and, if known, a description of
// the damage; both are empty if the file is unknown. Nothing can be salvaged from a damaged write-ahead log,
// because commits after the damage may depend on lost ones.
func (d *directory) damagedFile(err error) (name, what string) {
	names, unlisted := d.options.FS.List(d.path)
	logs, unscanned := wal.Scan(wal.Dir{FS: d.options.FS, Dirname: d.path})
	if unlisted != nil || unscanned != nil {
		return "", ""
	}
	for i, log := range logs {
		at, damage := readLog(log)
		// A crash may tear the end of the last log; a recycled file may contain stale data there.
		torn := errors.Is(damage, record.ErrUnexpectedEOF) && i == len(logs)-1
		if !torn && !errors.Is(damage, io.EOF) {
			return path.Base(at.PhysicalFile),
				fmt.Sprintf("is damaged from byte %d on, and its commits cannot be read", at.Physical)
		}
	}
	for _, name := range names {
		if matches("OPTIONS-*", name) && !d.isOptions(name) {
			return name, ""
		}
	}
	// Remove the path, because its directories may contain numbers.
	name = fileNumber.FindString(strings.ReplaceAll(err.Error(), d.path, ""))
	if name != "" && !isList(name) {
		name += ".sst"
	}
	return name, ""
}

// isOptions reports whether a file is a valid OPTIONS file of the database.
func (d *directory) isOptions(name string) bool {
	text, err := readWhole(d.options.FS, d.path, name)
	return err == nil && new(pebble.Options).Parse(text, nil) == nil
}

// readLog reads a write-ahead log to its end and returns the offset and error where reading stopped.
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

// countDamaged returns the number of damaged blocks of a table.
func countDamaged(fs vfs.FS, name string) (n int, err error) {
	blocks, err := readBlocks(fs, name)
	for _, b := range blocks {
		if b.damaged {
			n++
		}
	}
	return n, err
}

// rawBlock is a block of a table as stored on disk; damaged means that its checksum does not match.
type rawBlock struct {
	bytes   []byte
	damaged bool
}

// readBlocks reads the data blocks of a table in key order.
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

func (d *directory) tableName(table pebble.SSTableInfo) string {
	return path.Join(d.path, fmt.Sprintf("%06d.sst", uint64(table.BackingSSTNum)))
}

// openTable opens a table; closing the reader closes the file.
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
