package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/object"
)

// layout is the version of the layout described in layout.go. A program migrates older layouts to its own.
const layout = 1

// migrations are functions that each convert the database from one layout to the next: the one at index n-1 converts
// layout n to n+1. A migration may be interrupted at any point and is then run again.
type migrations []func(*pebble.DB) error

// allMigrations lists the migrations up to this program's layout.
var allMigrations = migrations{}

// storeFormat holds the contents of the format file: the layout, and whether creating the store completed.
type storeFormat struct {
	layout int
	ready  bool
}

const formatHead = "bowline store\n"

// NewerError reports that the directory has a newer layout than the program supports. It was not changed.
type NewerError struct {
	Dir          string
	Layout, Upto int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the store in %s has layout %d, but this program reads layouts up to %d: use a newer version "+
		"of the program; the store was not changed", e.Dir, e.Layout, e.Upto)
}

func (s storeFormat) String() string {
	word := "new"
	if s.ready {
		word = "ready"
	}
	return fmt.Sprintf("%slayout %d\n%s\n", formatHead, s.layout, word)
}

func parseFormat(text string) (s storeFormat, err error) {
	rest, ok := strings.CutPrefix(text, formatHead)
	var word string
	_, err = fmt.Sscanf(rest, "layout %d\n%s\n", &s.layout, &word)
	s.ready = word == "ready"
	// Accept only the exact text: if a damaged file passed for that of a new store, the store would be created anew.
	if !ok || err != nil || s.layout < 1 || s.String() != text {
		return s,
			fmt.Errorf("its file %s is damaged: expected the layout of the store, found %.40q: put it back, or "+
				"restore a backup", formatFile, text)
	}
	return s, nil
}

// prepare creates the store or migrates it to the current layout. The directory is locked.
func (d *directory) prepare() error {
	s, err := d.readFormat()
	if err != nil {
		return err
	}
	switch {
	case !s.ready && (d.options.MustExist || d.options.ReadOnly):
		return fmt.Errorf("%w in %s: its creation was interrupted", ErrNoStore, d.path)
	case !s.ready:
		return d.create()
	case s.layout == layout:
		return d.checkComplete()
	case d.options.ReadOnly:
		return fmt.Errorf("the store in %s has the old layout %d, not %d: open it once for writing, which migrates it",
			d.path, s.layout, layout)
	}
	return d.migrate(s, allMigrations)
}

// readFormat reads the format file; an empty directory is not ready.
func (d *directory) readFormat() (storeFormat, error) {
	names, err := d.options.FS.List(d.path)
	if err == nil && !slices.Contains(names, formatFile) {
		return storeFormat{layout: layout}, nil
	}
	var text string
	if err == nil {
		err = d.checkRegular(formatFile) // a dangling symlink must not pass for an empty directory
	}
	if err == nil {
		text, err = readWhole(d.options.FS, d.path, formatFile)
	}
	if err != nil {
		return storeFormat{}, fmt.Errorf("the store in %s: %w", d.path, err)
	}
	s, err := parseFormat(text)
	if err != nil {
		return s, fmt.Errorf("the store in %s: %w", d.path, err)
	}
	if s.layout > layout {
		return s, &NewerError{Dir: d.path, Layout: s.layout, Upto: layout}
	}
	return s, nil
}

// create makes an empty log. It removes the files of an interrupted attempt, which never held data.
func (d *directory) create() error {
	err := d.createWith(func(db *pebble.DB) error { return writeBase(db, object.FirstRevision(time.Now())) })
	if err != nil {
		return fmt.Errorf("creating the store in %s: %w", d.path, err)
	}
	return nil
}

// createWith creates a log with the contents that write puts into an empty database; write must sync its last
// write.
func (d *directory) createWith(write func(*pebble.DB) error) error {
	if err := writeWhole(d.options.FS, d.path, formatFile, storeFormat{layout: layout}.String()); err != nil {
		return err
	}
	if err := d.clear(); err != nil {
		return err
	}
	db, err := d.open(false)
	if err != nil {
		return err
	}
	if err = errors.Join(write(db.kv), db.kv.Close(), db.guard.err()); err != nil {
		return err
	}
	return writeWhole(d.options.FS, d.path, formatFile, storeFormat{layout: layout, ready: true}.String())
}

func (d *directory) clear() error {
	names, err := d.options.FS.List(d.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != formatFile && !isLockFile(name) {
			if err := d.options.FS.RemoveAll(path.Join(d.path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// requiredFile is a pattern of file names, and what the files contain.
type requiredFile struct{ pattern, holds string }

// requiredFiles lists the files without which the database would start empty and remove the existing files.
var requiredFiles = []requiredFile{
	{"*.log", "the last commits"},
	{"MANIFEST-*", "the list of its files"},
	{"marker.manifest.*", "the name of the current list of its files"},
	{"marker.format-version.*", "the format version of its files"},
}

// checkComplete returns an error if a required file is missing, because the database would not notice, or if a file
// that the database reads is not a regular one, because a pipe, for example, would block it.
func (d *directory) checkComplete() error {
	names, err := d.options.FS.List(d.path)
	if err != nil {
		return fmt.Errorf("the store in %s: %w", d.path, err)
	}
	for _, v := range requiredFiles {
		if !slices.ContainsFunc(names, func(name string) bool { return matches(v.pattern, name) }) {
			return &IncompleteError{Dir: d.path, File: v.pattern, Holds: v.holds}
		}
	}
	for _, name := range names {
		read := slices.ContainsFunc(requiredFiles, func(v requiredFile) bool {
			return matches(v.pattern, name)
		}) || matches("OPTIONS-*", name) || name == durableFile
		if !read {
			continue
		}
		if err := d.checkRegular(name); err != nil {
			return fmt.Errorf("the store in %s: %w", d.path, err)
		}
	}
	return nil
}

// isList reports whether the file is a MANIFEST.
func isList(name string) bool { return matches("MANIFEST-*", name) }

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// checkRegular rejects a directory, a pipe, or a dangling symlink in place of a file.
func (d *directory) checkRegular(name string) error {
	info, err := d.options.FS.Stat(path.Join(d.path, name))
	switch {
	case err != nil:
		return fmt.Errorf("its file %s cannot be opened: put it back, or restore a backup: %w", name, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("its file %s is missing, and %s is in its place: put it back, or restore a backup", name,
			fileType(info.Mode()))
	}
	return nil
}

// fileType describes a file that is not regular for an error message.
func fileType(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "something else (" + mode.String() + ")"
}

// migrate converts an older layout to the current one. Each step is recorded once it is durable.
func (d *directory) migrate(s storeFormat, steps migrations) error {
	db, err := d.open(false)
	if err != nil {
		return fmt.Errorf("migrating the store in %s from layout %d: %w", d.path, s.layout, err)
	}
	for ; err == nil && s.layout <= len(steps); s.layout++ {
		err = errors.Join(steps[s.layout-1](db.kv), db.kv.Flush(), db.guard.err())
		if err == nil {
			err = writeWhole(d.options.FS, d.path, formatFile, storeFormat{s.layout + 1, true}.String())
		}
	}
	if err = errors.Join(err, db.kv.Close()); err != nil {
		return fmt.Errorf("migrating the store in %s from layout %d: %w", d.path, s.layout, err)
	}
	return nil
}

func readWhole(fs vfs.FS, dir, name string) (string, error) {
	f, err := fs.Open(path.Join(dir, name))
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<16))
	return string(data), errors.Join(err, f.Close())
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
