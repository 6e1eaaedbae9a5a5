package standin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// The names by which the bowline binary stands in.
const (
	APIServerName = "kube-apiserver"
	EtcdName      = "etcd"
	KubectlName   = "kubectl"
)

// copyName is the binary in the folder, where links cannot point to another.
const copyName = "bowline-copy"

// Link makes a folder in which the names are symbolic links to a binary, or to a copy of it where go run made the binary, which
// will remove it. Links that are there are renewed; any other file of such a name is left alone, which is an error.
func Link(binary, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder of the assets: %w", err)
	}
	if ofGoRun.MatchString(filepath.ToSlash(binary)) {
		kept := filepath.Join(folder, copyName)
		if err := copyBinary(binary, kept); err != nil {
			return fmt.Errorf("copying %s, which go run made for now: %w", binary, err)
		}
		binary = kept
	}
	for _, name := range []string{APIServerName, EtcdName, KubectlName} {
		if err := link(binary, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func link(binary, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSymlink:
		return fmt.Errorf("%s is a file, and no link that bowline made: name another folder, or move it away", path)
	default:
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.Symlink(binary, path)
}

// ofGoRun are the paths where the go command builds what it runs once, and where it caches that, until it needs the room.
var ofGoRun = regexp.MustCompile(`/(go-build\d*|[0-9a-f]{64}-d)/`)

// copyBinary replaces a file, which may be running, by a copy of a binary.
func copyBinary(binary, to string) error {
	from, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer from.Close()
	fresh, err := os.CreateTemp(filepath.Dir(to), copyName)
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name()) // where it has not become the copy
	_, err = io.Copy(fresh, from)
	if err := errors.Join(err, fresh.Chmod(0o755), fresh.Close()); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), to)
}
