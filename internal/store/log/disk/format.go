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

	"github.com/bowline-dev/bowline/object"
)

// layout is the version of what layout.go describes. A program reads the layouts up to its own, and makes its own of them.
const layout = 1

// migrations make of a layout the one after it, in a database that nobody else uses yet: that of layout n is at n-1. A
// migration may be cut short at any point and begun again.
type migrations []func(*pebble.DB) error

// known are the migrations up to the layout of this program.
var known = migrations{}

// state is what the format file says: the layout, and whether the folder was completed.
type state struct {
	layout int
	ready  bool
}

const formatHead = "bowline store\n"

// NewerError says that a newer program wrote the folder. It was left as it is.
type NewerError struct {
	Dir          string
	Layout, Upto int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the store in %s has layout %d, and this program reads layouts up to %d: use a newer one; nothing in it was touched",
		e.Dir, e.Layout, e.Upto)
}

func (s state) String() string {
	word := "new"
	if s.ready {
		word = "ready"
	}
	return fmt.Sprintf("%slayout %d\n%s\n", formatHead, s.layout, word)
}

func parseState(text string) (s state, err error) {
	rest, ok := strings.CutPrefix(text, formatHead)
	var word string
	_, err = fmt.Sscanf(rest, "layout %d\n%s\n", &s.layout, &word)
	s.ready = word == "ready"
	if !ok || err != nil || s.layout < 1 || s.String() != text { // what is not ready is made anew: no bit may be wrong here
		return s, fmt.Errorf("its file %s is damaged: it does not say which layout the store has, but %.40q: put it back, or restore a "+
			"backup", formatFile, text)
	}
	return s, nil
}

// prepare makes the folder one of the current layout. The folder is locked.
func (l *Log) prepare() error {
	s, err := l.readState()
	if err != nil {
		return err
	}
	switch {
	case !s.ready && (l.options.MustExist || l.options.ReadOnly):
		return fmt.Errorf("%w in %s: what made it was cut short", ErrNoStore, l.dir)
	case !s.ready:
		return l.create()
	case s.layout == layout:
		return l.mustBeComplete()
	case l.options.ReadOnly:
		return fmt.Errorf("the store in %s has layout %d, and is read by a program that knows %d: start it once, which makes its own "+
			"of it", l.dir, s.layout, layout)
	}
	return l.migrate(s, known)
}

// readState is what the folder says of itself; not ready where it is empty.
func (l *Log) readState() (state, error) {
	names, err := l.options.FS.List(l.dir)
	if err == nil && !slices.Contains(names, formatFile) {
		return state{layout: layout}, nil
	}
	var text string
	if err == nil {
		err = l.mustBeFile(formatFile) // a link that leads nowhere is no empty folder
	}
	if err == nil {
		text, err = readWhole(l.options.FS, l.dir, formatFile)
	}
	if err != nil {
		return state{}, fmt.Errorf("the store in %s: %w", l.dir, err)
	}
	s, err := parseState(text)
	if err != nil {
		return s, fmt.Errorf("the store in %s: %w", l.dir, err)
	}
	if s.layout > layout {
		return s, &NewerError{Dir: l.dir, Layout: s.layout, Upto: layout}
	}
	return s, nil
}

// create makes an empty log. What an attempt left that was cut short goes: nothing was ever kept in it.
func (l *Log) create() error {
	if err := l.makeEmpty(); err != nil {
		return fmt.Errorf("making the store in %s: %w", l.dir, err)
	}
	return nil
}

func (l *Log) makeEmpty() error {
	return l.make(func(db *pebble.DB) error { return start(db, object.FirstRevision(time.Now())) })
}

// make makes a log of what write puts into an empty database; its last write is to be synced.
func (l *Log) make(write func(*pebble.DB) error) error {
	if err := writeWhole(l.options.FS, l.dir, formatFile, state{layout: layout}.String()); err != nil {
		return err
	}
	if err := l.clear(); err != nil {
		return err
	}
	db, guard, err := l.open(false)
	if err != nil {
		return err
	}
	if err = errors.Join(write(db), db.Close(), guard.err()); err != nil {
		return err
	}
	return writeWhole(l.options.FS, l.dir, formatFile, state{layout: layout, ready: true}.String())
}

func (l *Log) clear() error {
	names, err := l.options.FS.List(l.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != formatFile && !ours(name) {
			if err := l.options.FS.RemoveAll(path.Join(l.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// file is a sort of files.
type file struct{ pattern, holds string }

// vital are the files without which the database would begin anew, with no commits, and remove what is there.
var vital = []file{
	{"*.log", "the last commits"},
	{"MANIFEST-*", "the list of its files"},
	{"marker.manifest.*", "which list of its files counts"},
	{"marker.format-version.*", "how its files are written"},
}

// mustBeComplete finds what is missing that the database would not miss, and what it would wait for although it is no file.
func (l *Log) mustBeComplete() error {
	names, err := l.options.FS.List(l.dir)
	if err != nil {
		return fmt.Errorf("the store in %s: %w", l.dir, err)
	}
	for _, v := range vital {
		if !slices.ContainsFunc(names, func(name string) bool { return matches(v.pattern, name) }) {
			return &IncompleteError{Dir: l.dir, File: v.pattern, Holds: v.holds}
		}
	}
	for _, name := range names {
		read := slices.ContainsFunc(vital, func(v file) bool { return matches(v.pattern, name) }) || matches("OPTIONS-*", name) || name == boundFile
		if !read {
			continue
		}
		if err := l.mustBeFile(name); err != nil {
			return fmt.Errorf("the store in %s: %w", l.dir, err)
		}
	}
	return nil
}

// isList says whether a file lists the files of a database.
func isList(name string) bool { return matches("MANIFEST-*", name) }

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// mustBeFile refuses a folder, a pipe, or a link to one or to nothing, in the place of a file.
func (l *Log) mustBeFile(name string) error {
	info, err := l.options.FS.Stat(path.Join(l.dir, name))
	switch {
	case err != nil:
		return fmt.Errorf("its file %s cannot be reached: put it back, or restore a backup: %w", name, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("its file %s is missing, and %s is in its place: put it back, or restore a backup", name, sort(info.Mode()))
	}
	return nil
}

// sort is what people call what is no file.
func sort(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "something else (" + mode.String() + ")"
}

// migrate makes the current layout of an older one, step by step, each of which counts once it is durable.
func (l *Log) migrate(s state, steps migrations) error {
	db, guard, err := l.open(false)
	if err != nil {
		return fmt.Errorf("migrating the store in %s from layout %d: %w", l.dir, s.layout, err)
	}
	for ; err == nil && s.layout <= len(steps); s.layout++ {
		err = errors.Join(steps[s.layout-1](db), db.Flush(), guard.err())
		if err == nil {
			err = writeWhole(l.options.FS, l.dir, formatFile, state{s.layout + 1, true}.String())
		}
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("migrating the store in %s from layout %d: %w", l.dir, s.layout, err)
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
