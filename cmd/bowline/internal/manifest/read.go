package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// StandardInput is the path that stands for standard input.
const StandardInput = "-"

// extensions are those that Read takes from a folder. A file that is named itself may have any.
var extensions = []string{".yaml", ".yml", ".json"}

// testdata is the folder that Read leaves out: what stands there is input for tests, some of it wrong on purpose.
const testdata = "testdata"

// Check reports the first path that cannot be read, so that a mistake in a command is found before it does anything.
func Check(paths []string) error {
	for _, path := range paths {
		if path == StandardInput {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("cannot read what -f names: %w", err)
		}
	}
	return nil
}

// Read collects the objects of all paths in the order of applying. Paths are files, folders (with all below them) or
// StandardInput. The errors are one *Error for each document that is not to be read.
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

func load(file string, stdin io.Reader) ([]byte, error) {
	if file == StandardInput {
		text, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return text, nil
	}
	return os.ReadFile(file)
}

// filesOf lists the files that a path stands for, in the order of their names.
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
			files = append(files, name)
		}
		return nil
	})
	return files, errors.Join(append(failures, err)...)
}
