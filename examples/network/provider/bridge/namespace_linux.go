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

// folder is where ip(8) stores the names of network namespaces: each is a file on which the namespace is
// mounted.
const folder = "/run/netns"

func path(name string) string { return filepath.Join(folder, name) }

// namespace is an open network namespace. The function that receives it closes it.
type namespace = netns.NsHandle

var none = netns.None()

// errNoNamespace means that a name's file exists but no namespace is mounted on it.
var errNoNamespace = errors.New("no namespace is mounted there")

// openNamespace opens a named network namespace. The error is fs.ErrNotExist or errNoNamespace if there is
// none.
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

// newNamespace creates an unnamed network namespace, which exists as long as it is open. Afterwards the
// calling thread is in its original namespace; if the switch back fails, the thread is not reused.
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
		// The runtime ends the thread of a goroutine that exits while locked to it.
	}()
	r := <-made
	return r.ns, r.err
}

// unshare implements newNamespace on a locked thread. stray reports that the thread is left in the new
// namespace.
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

// nameNamespace mounts a namespace under a name, whose file may already exist. The caller holds the lock on
// the folder.
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

// unnameNamespace removes a name. The kernel removes the namespace unless a process or a socket uses it. The
// caller holds the lock on the folder.
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

// lockFolder creates and locks the folder, so that other processes, such as ip(8), add no names meanwhile.
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

// shareFolder makes the folder a shared mount, as the first `ip netns add` on a machine does, so that other
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
