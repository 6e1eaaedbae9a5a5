package nginx

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// folder contains the files of a controller and its nginx. Each has a lock: the controller's process holds
// its own, and nginx and its workers inherit theirs, so that remaining processes can be detected.
type folder struct {
	path string
	lock *os.File
}

// Names of files in the folder.
const (
	configurationFile = "nginx.conf"
	candidateFile     = "candidate.conf"
	controllerLock    = "controller.lock"
	nginxLock         = "nginx.lock"
)

// longestSocket is the maximum length of the path of a socket.
const longestSocket = 100

// openFolder locks a folder for this process. It creates the folder if it does not exist.
func openFolder(path string) (*folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	if len(f.file(statusSocket)) > longestSocket {
		return nil, fmt.Errorf("the path of the folder %s is too long for a socket: it must be shorter than %d bytes",
			path, longestSocket-len(statusSocket))
	}
	for _, name := range []string{"", certificateDir, "temp"} {
		if err := os.MkdirAll(f.file(name), 0o700); err != nil {
			return nil, fmt.Errorf("nginx's folder must be writable: %w", err)
		}
	}
	if f.lock, err = os.OpenFile(f.file(controllerLock), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("nginx's folder must be writable: %w", err)
	}
	if err := tryLock(f.lock); err != nil {
		f.lock.Close()
		return nil,
			fmt.Errorf("the folder %s is in use by another nginx controller: stop that one, or choose another folder (%w)",
				path, err)
	}
	return f, nil
}

// close releases the folder.
func (f *folder) close() error { return f.lock.Close() }

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// claim kills an earlier nginx of this folder, if one remains, and returns the lock for the next one. The
// lock proves that the process group in the pid file still belongs to that nginx.
func (f *folder) claim() (*os.File, error) {
	lock, err := os.OpenFile(f.file(nginxLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = tryLock(lock)
	if errors.Is(err, errLocked) {
		if err = f.endGroup(); err == nil {
			err = awaitLock(lock)
		}
	}
	if err == nil {
		err = f.remove(statusSocket, pidFile)
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("stop the previous nginx in %s: %w", f.path, err)
	}
	return lock, nil
}

// endGroup kills the nginx of the pid file and its workers.
func (f *folder) endGroup() error {
	text, err := os.ReadFile(f.file(pidFile))
	if err != nil {
		return fmt.Errorf("an nginx still runs there, and its process is unknown: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("an nginx still runs there, and %s does not contain its process ID", f.file(pidFile))
	}
	return killGroup(pid)
}

// install writes a configuration under a name, and its certificates.
func (f *folder) install(name string, c Configuration) error {
	for file, content := range c.Files {
		if err := f.write(file, content); err != nil {
			return err
		}
	}
	return f.write(name, []byte(c.Text))
}

// write replaces a file atomically, readable only by its owner. It does not write a file whose content is the
// same.
func (f *folder) write(name string, content []byte) error {
	path := f.file(name)
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, content) {
		return nil
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// tidy removes the certificates that a configuration does not use.
func (f *folder) tidy(c Configuration) error {
	entries, err := os.ReadDir(f.file(certificateDir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := certificateDir + "/" + e.Name()
		if _, used := c.Files[name]; used {
			continue
		}
		if err := f.remove(name); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) remove(names ...string) error {
	for _, name := range names {
		if err := os.Remove(f.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
