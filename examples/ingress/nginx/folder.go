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

// folder is where one controller and its nginx keep their files. Two locks say whose it is: the controller's is held by the
// controller's process, and nginx's is handed down to nginx and its workers, so that whoever of them lives on is known.
type folder struct {
	path string
	lock *os.File
}

// Names of what else is in the folder.
const (
	configurationFile = "nginx.conf"
	candidateFile     = "candidate.conf"
	controllerLock    = "controller.lock"
	nginxLock         = "nginx.lock"
)

// longestSocket is how long the path of a socket may be.
const longestSocket = 100

// openFolder takes a folder for this process, and makes it when it is not there.
func openFolder(path string) (*folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	if len(f.file(statusSocket)) > longestSocket {
		return nil, fmt.Errorf("the folder %s has too long a name for a socket in it: choose one of less than %d bytes",
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
		return nil, fmt.Errorf("the folder %s is another nginx controller's, which still runs: end that, or choose another folder (%w)",
			path, err)
	}
	return f, nil
}

// close lets another controller have the folder.
func (f *folder) close() error { return f.lock.Close() }

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// claim ends what is left of an earlier nginx of this folder, and returns the lock to hand to the next. That the lock is held
// proves that the process group of the pid file is still that nginx's.
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
		return nil, fmt.Errorf("make room for nginx in %s: %w", f.path, err)
	}
	return lock, nil
}

// endGroup kills the nginx of the pid file, with its workers.
func (f *folder) endGroup() error {
	text, err := os.ReadFile(f.file(pidFile))
	if err != nil {
		return fmt.Errorf("a nginx still runs there, and which one is not known: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("a nginx still runs there, and %s does not say which", f.file(pidFile))
	}
	return killGroup(pid)
}

// install writes a configuration under a name, with the certificates that it needs.
func (f *folder) install(name string, c Configuration) error {
	for file, content := range c.Files {
		if err := f.write(file, content); err != nil {
			return err
		}
	}
	return f.write(name, []byte(c.Text))
}

// write replaces a file as a whole, for its owner alone. One with this content is left as it is.
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

// tidy removes certificates that a configuration does not name.
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
