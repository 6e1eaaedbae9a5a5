package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// folder is where ip(8) keeps the names of network namespaces: a file for each, on which the namespace is mounted.
const folder = "/run/netns"

func path(name string) string { return filepath.Join(folder, name) }

// namespace is an open network namespace. The one who gets it closes it.
type namespace = netns.NsHandle

var none = netns.None()

// errNoNamespace is a name without a namespace: the file is there but nothing is mounted on it.
var errNoNamespace = errors.New("no namespace is mounted there")

// openNamespace opens a named network namespace. The error is fs.ErrNotExist or errNoNamespace when there is none.
func openNamespace(name string) (namespace, error) {
	ns, err := netns.GetFromPath(path(name))
	if err != nil {
		return none, &fs.PathError{Op: "open", Path: path(name), Err: err}
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(ns), &st); err != nil {
		return none, errors.Join(err, ns.Close())
	}
	if st.Type != unix.NSFS_MAGIC {
		return none, errors.Join(errNoNamespace, ns.Close())
	}
	return ns, nil
}

// newNamespace makes a network namespace without a name, which lives as long as it is open. The calling thread is back
// in its own namespace when it returns; if it cannot be brought back, it is never used again.
func newNamespace() (namespace, error) {
	type result struct {
		ns  namespace
		err error
	}
	made := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		ns, stray, err := unshare()
		if !stray {
			runtime.UnlockOSThread()
		}
		made <- result{ns, err}
		// A goroutine that ends on a locked thread takes the thread with it.
	}()
	r := <-made
	return r.ns, r.err
}

// unshare does newNamespace's work on a locked thread; stray says that the thread is left in a foreign namespace.
func unshare() (ns namespace, stray bool, err error) {
	home, err := netns.Get()
	if err != nil {
		return none, false, err
	}
	defer home.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return none, false, fmt.Errorf("unshare: %w", err)
	}
	ns, err = netns.Get()
	if back := netns.Set(home); back != nil {
		return ns, true, err
	}
	return ns, false, err
}

// nameNamespace mounts a namespace under a name; the name's file may be there already. The folder is locked.
func nameNamespace(ns namespace, name string) error {
	f, err := os.OpenFile(path(name), os.O_RDONLY|os.O_CREATE, 0o444)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	self := fmt.Sprintf("/proc/self/fd/%d", int(ns))
	if err := unix.Mount(self, path(name), "none", unix.MS_BIND, ""); err != nil {
		return &fs.PathError{Op: "mount", Path: path(name), Err: err}
	}
	return nil
}

// unnameNamespace takes the name away, and with it a namespace that no process and no socket holds. The folder is locked.
func unnameNamespace(name string) error {
	for {
		err := unix.Unmount(path(name), unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			break // nothing is mounted there any more
		}
		if err != nil {
			return &fs.PathError{Op: "unmount", Path: path(name), Err: err}
		}
	}
	if err := os.Remove(path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lockFolder readies the folder and keeps other processes, ip(8) among them, from adding names to it meanwhile.
func lockFolder() (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", folder, err), f.Close())
	}
	if err := shareFolder(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}

func flock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// shareFolder makes the folder a shared mount, as the first `ip netns add` of a machine does, so that processes in other
// mount namespaces see names come and go.
func shareFolder() error {
	err := unix.Mount("", folder, "none", unix.MS_SHARED|unix.MS_REC, "")
	if !errors.Is(err, unix.EINVAL) {
		return mountError(err)
	}
	if err := unix.Mount(folder, folder, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return mountError(err)
	}
	return mountError(unix.Mount("", folder, "none", unix.MS_SHARED|unix.MS_REC, ""))
}

func mountError(err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "mount", Path: folder, Err: err}
}
