package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// OwnerError reports that a part of a state folder belongs to another user, who could choose the authority
// that a server trusts, or the server that a client connects to.
type OwnerError struct {
	Path  string
	Owner int // user ID
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("%s belongs to %s, but bowline runs as %s, and neither used nor changed it: run bowline as the "+
		"owner, change the owner with chown if you trust the content, or name another folder with --data or "+
		"XDG_STATE_HOME", e.Path, userName(e.Owner), userName(os.Geteuid()))
}

// userName returns the name of a user with the ID.
func userName(id int) string {
	if found, err := user.LookupId(strconv.Itoa(id)); err == nil {
		return fmt.Sprintf("%s (uid %d)", found.Username, id)
	}
	return fmt.Sprintf("the user with uid %d", id)
}

// checkOwner returns an *OwnerError if another user owns a file or folder, or the target of a link. It
// returns nil if there is none.
func checkOwner(path string) error {
	for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("finding the owner of a state folder: %w", err)
		}
		if found, ok := info.Sys().(*syscall.Stat_t); ok && int(found.Uid) != os.Geteuid() {
			return &OwnerError{Path: path, Owner: int(found.Uid)}
		}
	}
	return nil
}

// checkOwners checks the owner of the folder, of its lock and identity, and of its private folders with all of
// their files.
func (f Folder) checkOwners() error {
	paths := []string{string(f), f.path("lock"), f.Identity()}
	for _, folder := range f.private() {
		paths = append(paths, folder)
		entries, err := os.ReadDir(folder + "/") // with the slash, it does not wait for the writer of a pipe
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("finding the owner of a state folder: %w", errors.Join(checkOwner(folder), err))
		}
		for _, entry := range entries {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	for _, path := range paths {
		if err := checkOwner(path); err != nil {
			return err
		}
	}
	return nil
}

// private returns the folders that nobody but their owner may read: they hold keys and Secrets.
func (f Folder) private() []string { return []string{f.Certificates(), f.Objects(), f.Restoring()} }

// Permissions that secure takes away.
const (
	writeOfOthers fs.FileMode = 0o022
	allOfOthers   fs.FileMode = 0o077
)

// secure returns an *OwnerError if another user owns a part of the folder. It removes permissions of
// other users: all for the private folders and for the user's default folder, and the write permission for a
// folder that the user named. A folder that users share, such as /tmp, is an error.
func (f Folder) secure() error {
	if err := f.checkOwners(); err != nil {
		return err
	}
	info, err := os.Stat(string(f))
	if err != nil {
		return fmt.Errorf("reading the mode of the state folder: %w", err)
	}
	if info.Mode()&fs.ModeSticky != 0 && info.Mode()&writeOfOthers != 0 {
		return fmt.Errorf("users share the folder %s, whose mode is %s: name a folder of your own with --data, such "+
			"as %s", f, info.Mode(), f.path("bowline"))
	}
	take := map[string]fs.FileMode{string(f): writeOfOthers}
	if own, err := Default(); err == nil && own == f {
		take[string(f)] = allOfOthers
	}
	for _, folder := range f.private() {
		take[folder] = allOfOthers
	}
	for path, permissions := range take {
		if err := restrict(path, permissions); err != nil {
			return fmt.Errorf("restricting access to the state folder: %w", err)
		}
	}
	return f.checkOwners() // again: before restrict, others may have written
}

// restrict takes permissions from a folder, if there is one.
func restrict(path string, take fs.FileMode) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.IsDir() || info.Mode()&take == 0 {
		return err
	}
	return os.Chmod(path, info.Mode()&^take)
}
