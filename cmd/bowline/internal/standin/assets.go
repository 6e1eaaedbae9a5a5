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

// The names under which the bowline binary runs as one of these programs.
const (
	APIServerName = "kube-apiserver"
	EtcdName      = "etcd"
	KubectlName   = "kubectl"
)

// copyName is the name of the copied binary in the folder, used if the links cannot point to the original.
const copyName = "bowline-copy"

// Link creates a folder with symbolic links from the program names to a binary. If go run built the binary,
// which removes it afterwards, Link copies it to the folder and links to the copy. Existing links are
// replaced. If another file has one of the names, Link leaves it alone and returns an error.
func Link(binary, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("creating the folder of the assets: %w", err)
	}
	if goRunPath.MatchString(filepath.ToSlash(binary)) {
		copied := filepath.Join(folder, copyName)
		if err := copyBinary(binary, copied); err != nil {
			return fmt.Errorf("copying %s, a temporary file of go run: %w", binary, err)
		}
		binary = copied
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
		return fmt.Errorf("%s is a file and not a link: name another folder, or move it away", path)
	default:
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.Symlink(binary, path)
}

// goRunPath matches the temporary build directories of go run, and the entries of the build cache, which the go
// command trims.
var goRunPath = regexp.MustCompile(`/(go-build\d*|[0-9a-f]{64}-d)/`)

// copyBinary replaces the file to, which may be a running executable, with a copy of a binary.
func copyBinary(binary, to string) error {
	from, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer from.Close()
	temporary, err := os.CreateTemp(filepath.Dir(to), copyName)
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails harmlessly after the rename
	_, err = io.Copy(temporary, from)
	if err := errors.Join(err, temporary.Chmod(0o755), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), to)
}
