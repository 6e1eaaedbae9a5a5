package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// networks implements provider.Provider with a network namespace and a bridge for each network.
type networks struct {
	plane string

	mu    sync.Mutex
	watch *watch // the running Watch, or nil
}

// New returns a provider for one plane. It does not access the system yet.
func New(plane string) (provider.Provider, error) {
	if err := provider.CheckPlane(plane); err != nil {
		return nil, err
	}
	return &networks{plane: plane}, nil
}

// Name implements provider.Provider.
func (p *networks) Name() string { return "bridge" }

// ID implements provider.Provider. The ID is the name of the network namespace.
func (p *networks) ID(uid types.UID) string { return provider.ID(p.plane, uid) }

// List implements provider.Provider.
func (p *networks) List(context.Context) ([]types.UID, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list network namespaces: %w", err)
	}
	var uids []types.UID
	for _, e := range entries {
		if uid, ok := provider.ParseID(p.plane, e.Name()); ok {
			uids = append(uids, uid)
		}
	}
	return uids, nil
}

// Get implements provider.Provider.
func (p *networks) Get(_ context.Context, uid types.UID) (provider.Actual, error) {
	if provider.CheckUID(uid) != nil { // such a UID has no path, and Apply rejects it
		return provider.Actual{}, provider.ErrNotFound
	}
	id := p.ID(uid)
	ns, err := openNamespace(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return provider.Actual{}, provider.ErrNotFound
	case errors.Is(err, errNoNamespace):
		return provider.Actual{ID: id, Fault: "its namespace has only a name"}, nil
	case err != nil:
		return provider.Actual{}, fmt.Errorf("open network namespace %s: %w", id, err)
	}
	defer ns.Close()
	actual, err := inspect(ns, p.mark(uid))
	if err != nil {
		return provider.Actual{}, fmt.Errorf("inspect network namespace %s: %w", id, err)
	}
	actual.ID = id
	return actual, nil
}

// Apply implements provider.Provider.
func (p *networks) Apply(_ context.Context, want provider.Network) error {
	if err := provider.CheckUID(want.UID); err != nil {
		return err
	}
	id := p.ID(want.UID)
	unlock, err := lockFolder()
	if err != nil {
		return err
	}
	defer unlock()
	ns, err := openNamespace(id)
	switch {
	case err == nil:
		err = configure(ns, want, p.mark(want.UID))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoNamespace):
		ns, err = p.create(id, want)
	}
	if ns.IsOpen() {
		defer ns.Close()
	}
	if err != nil {
		return fmt.Errorf("create the bridge of network namespace %s: %w", id, err)
	}
	p.attach(want.UID, ns)
	return nil
}

// create builds a network in an unnamed namespace and then names it.
func (p *networks) create(id string, want provider.Network) (namespace, error) {
	ns, err := newNamespace()
	if err != nil {
		return none, err
	}
	if err := configure(ns, want, p.mark(want.UID)); err != nil {
		return none, errors.Join(err, ns.Close())
	}
	if err := nameNamespace(ns, id); err != nil {
		return none, errors.Join(err, ns.Close())
	}
	return ns, nil
}

// Delete implements provider.Provider. It removes the bridge first: a process that runs in the namespace
// keeps the namespace alive, but must not keep the network.
func (p *networks) Delete(_ context.Context, uid types.UID) error {
	if provider.CheckUID(uid) != nil { // as in Get
		return nil
	}
	p.detach(uid)
	id := p.ID(uid)
	if _, err := os.Lstat(path(id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := lockFolder()
	if err != nil {
		return err
	}
	defer unlock()
	if ns, err := openNamespace(id); err == nil {
		err = errors.Join(removeBridge(ns), ns.Close())
		if err != nil {
			return fmt.Errorf("remove the bridge of network namespace %s: %w", id, err)
		}
	}
	if err := unnameNamespace(id); err != nil {
		return fmt.Errorf("remove network namespace %s: %w", id, err)
	}
	return nil
}

// mark returns the alias of the bridge, which identifies its owner in addition to the namespace's name.
func (p *networks) mark(uid types.UID) string {
	return fmt.Sprintf("bowline plane=%s uid=%s", p.plane, uid)
}
