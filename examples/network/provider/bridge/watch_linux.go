package bridge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// watch is a running Watch. It has a netlink socket in each network's namespace, which reports changes of
// links and addresses, and a file watch on the folder, which reports removed names. A socket keeps its
// namespace alive, so the socket is closed when the name is removed.
type watch struct {
	changed func(types.UID)

	// The provider's mutex protects these fields.
	sockets map[types.UID]*nl.NetlinkSocket
	closed  bool
	readers sync.WaitGroup
}

// Watch implements provider.Provider.
func (p *networks) Watch(ctx context.Context, changed func(types.UID)) error {
	w := &watch{changed: changed, sockets: map[types.UID]*nl.NetlinkSocket{}}
	if err := p.begin(w); err != nil {
		return err
	}
	defer p.end(w)
	unlock, err := lockFolder() // also creates the folder, which must exist to be watched
	if err != nil {
		return err
	}
	unlock()
	names, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", folder, err)
	}
	defer names.Close()
	if err := names.Add(folder); err != nil {
		return fmt.Errorf("watch %s: %w", folder, err)
	}
	changed("")
	if err := p.attachAll(ctx); err != nil { // each socket reports an initial change
		return err
	}
	return p.follow(ctx, w, names)
}

// follow reports changes of the folder until ctx ends.
func (p *networks) follow(ctx context.Context, w *watch, names *fsnotify.Watcher) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-names.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch %s: %w", folder, err)
			}
			w.changed("")
		case e := <-names.Events:
			uid, ours := provider.ParseID(p.plane, filepath.Base(e.Name))
			if !ours {
				continue
			}
			if e.Op.Has(fsnotify.Remove) {
				p.reattach(uid)
			}
			w.changed(uid)
		}
	}
}

func (p *networks) begin(w *watch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watch != nil {
		return errors.New("the bridge provider is already watched")
	}
	p.watch = w
	return nil
}

// end closes every socket and waits until no goroutine calls changed any more.
func (p *networks) end(w *watch) {
	p.mu.Lock()
	p.watch, w.closed = nil, true
	for _, s := range w.sockets {
		s.Close()
	}
	p.mu.Unlock()
	w.readers.Wait()
}

// attachAll watches all existing namespaces.
func (p *networks) attachAll(ctx context.Context) error {
	uids, err := p.List(ctx)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		p.reattach(uid)
	}
	return nil
}

// reattach watches the namespace that a name refers to now, which is none if the name is incomplete or gone.
func (p *networks) reattach(uid types.UID) {
	p.detach(uid)
	if ns, err := openNamespace(p.ID(uid)); err == nil {
		defer ns.Close()
		p.attach(uid, ns)
	}
}

// attach adds a network's namespace to the running watch, if there is one.
func (p *networks) attach(uid types.UID, ns namespace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.watch
	if w == nil || w.closed {
		return
	}
	if s := w.sockets[uid]; s != nil {
		// The name may refer to another namespace by now.
		s.Close()
	}
	s, err := nl.SubscribeAt(ns, none, unix.NETLINK_ROUTE,
		unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR)
	if err != nil {
		// Probably the process has too many open files. This network is then only compared at the resync.
		delete(w.sockets, uid)
		return
	}
	w.sockets[uid] = s
	w.readers.Add(1)
	go w.read(uid, s)
}

// detach removes a network's namespace from the running watch.
func (p *networks) detach(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watch == nil {
		return
	}
	if s := p.watch.sockets[uid]; s != nil {
		s.Close()
		delete(p.watch.sockets, uid)
	}
}

// read reports a change for every message until the socket is closed, and an initial one for changes from
// before the subscription. It ignores the messages' content, because the caller reads the current state.
func (w *watch) read(uid types.UID, s *nl.NetlinkSocket) {
	defer w.readers.Done()
	w.changed(uid)
	for {
		_, _, err := s.Receive()
		if err != nil && !errors.Is(err, unix.ENOBUFS) { // ENOBUFS: some messages were lost
			return
		}
		w.changed(uid)
	}
}
