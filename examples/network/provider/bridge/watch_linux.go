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

// watch is one running Watch. It has a netlink socket in each network's namespace, which tells of links and addresses,
// and one watch of the folder, which tells of names that go. A socket holds its namespace, so when the name goes the
// socket is closed, and the namespace goes too.
type watch struct {
	changed func(types.UID)

	// The provider's mutex guards these.
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
	unlock, err := lockFolder() // it makes the folder, which has to be there to be watched
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
	if err := p.attachAll(ctx); err != nil { // each says its own first word
		return err
	}
	return p.follow(ctx, w, names)
}

// follow hands on what the folder tells until ctx ends.
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
		return errors.New("the bridge provider is watched already")
	}
	p.watch = w
	return nil
}

// end closes every socket and waits until nobody calls changed any more.
func (p *networks) end(w *watch) {
	p.mu.Lock()
	p.watch, w.closed = nil, true
	for _, s := range w.sockets {
		s.Close()
	}
	p.mu.Unlock()
	w.readers.Wait()
}

// attachAll watches the namespaces that are there.
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

// reattach follows what a name stands for now, which is nothing when it is half made or gone.
func (p *networks) reattach(uid types.UID) {
	p.detach(uid)
	if ns, err := openNamespace(p.ID(uid)); err == nil {
		defer ns.Close()
		p.attach(uid, ns)
	}
}

// attach lets the running watch, if any, follow what happens in a network's namespace from now on.
func (p *networks) attach(uid types.UID, ns namespace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.watch
	if w == nil || w.closed {
		return
	}
	if s := w.sockets[uid]; s != nil {
		// The name may stand for another namespace by now.
		s.Close()
	}
	s, err := nl.SubscribeAt(ns, none, unix.NETLINK_ROUTE,
		unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR)
	if err != nil {
		// Out of files, most likely: this network is looked at on resync only.
		delete(w.sockets, uid)
		return
	}
	w.sockets[uid] = s
	w.readers.Add(1)
	go w.read(uid, s)
}

// detach lets go of a network's namespace.
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

// read tells of every message until the socket is closed, and first of what happened before the socket was there. What a
// message says does not matter: the caller looks.
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
