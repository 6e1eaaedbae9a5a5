package standin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The names by which the bowline binary stands in.
const (
	APIServerName = "kube-apiserver"
	EtcdName      = "etcd"
	KubectlName   = "kubectl"
)

// Link makes a folder in which the names are symbolic links to a binary. Links that are there are renewed; any other file of
// such a name is left alone, which is an error.
func Link(binary, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder of the assets: %w", err)
	}
	for _, name := range []string{APIServerName, EtcdName, KubectlName} {
		link := filepath.Join(folder, name)
		info, err := os.Lstat(link)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.Mode().Type() != fs.ModeSymlink:
			return fmt.Errorf("%s is a file, and no link that bowline made: name another folder, or move it away", link)
		default:
			if err := os.Remove(link); err != nil {
				return err
			}
		}
		if err := os.Symlink(binary, link); err != nil {
			return err
		}
	}
	return nil
}
