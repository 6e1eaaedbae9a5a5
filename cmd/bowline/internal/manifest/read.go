package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// StandardInput is the path that means standard input.
const StandardInput = "-"

// extensions are the extensions of the files that Read reads in a folder. A file that is named explicitly may
// have any extension.
var extensions = []string{".yaml", ".yml", ".json"}

// testdata is the name of folders that Read skips: they contain input of tests, some of it invalid on
// purpose.
const testdata = "testdata"

// Check returns an error for the first path that does not exist, so that a command can fail before it changes
// anything.
func Check(paths []string) error {
	for _, path := range paths {
		if path == StandardInput {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("reading the manifests of -f: %w", err)
		}
	}
	return nil
}

// Read reads the objects of all paths and sorts them for applying. A path is a file, a folder (read
// recursively), or StandardInput. It returns an *Error for each document that cannot be parsed, and other
// errors for paths that cannot be read.
func Read(paths []string, stdin io.Reader) ([]Declared, []error) {
	var declared []Declared
	var failures []error
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			failures = append(failures, err)
		}
		for _, file := range files {
			text, err := load(file, stdin)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			found, bad := Parse(file, text)
			declared, failures = append(declared, found...), append(failures, bad...)
		}
	}
	Sort(declared)
	return declared, failures
}

// maxFile bounds the size of a file, in bytes: a device, or a pipe whose writer never ends, must not fill the
// memory.
const maxFile = 256 << 20

func load(file string, stdin io.Reader) ([]byte, error) {
	if file == StandardInput {
		text, err := readBounded("it", stdin, maxFile)
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return text, nil
	}
	from, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return readBounded(file, from, maxFile)
}

// readBounded reads to the end, and fails if there are more than limit bytes. It collects parts and joins them
// at the end: a buffer that grows would take twice the limit.
func readBounded(name string, from io.Reader, limit int64) ([]byte, error) {
	const smallest, largest = 16 << 10, 4 << 20
	var parts [][]byte
	for total := int64(0); ; {
		part := make([]byte, min(max(total, smallest), largest))
		n, err := io.ReadFull(from, part)
		if total += int64(n); total > limit {
			return nil, fmt.Errorf("%s is larger than %d bytes: split it into several files", name, limit)
		}
		parts = append(parts, part[:n])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return bytes.Join(parts, nil), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// filesOf returns the files of a path, sorted by name.
func filesOf(path string) ([]string, error) {
	if path == StandardInput {
		return []string{path}, nil
	}
	var files []string
	var failures []error
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			failures = append(failures, err)
		case entry.IsDir() && name != path && entry.Name() == testdata:
			return fs.SkipDir
		case !entry.IsDir() && (name == path || slices.Contains(extensions, filepath.Ext(name))):
			if info, err := os.Stat(name); name != path && err == nil && !info.Mode().IsRegular() {
				failures = append(failures, fmt.Errorf("%s in the folder %s is not a regular file: name it with -f, or "+
					"move it out of the folder", name, path)) // a pipe without a writer would never end
				return nil
			}
			files = append(files, name)
		}
		return nil
	})
	return files, errors.Join(append(failures, err)...)
}
