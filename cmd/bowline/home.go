package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// home is what a server has besides its objects: certificates, and places for files.
type home struct {
	keys       *pki.Keeper
	folder     state.Folder // where the plane's identity and objects are; empty when ephemeral
	kubeconfig string
	networks   string // the folder for the records of networks
	ingress    string // the folder for nginx's files

	lock      *state.Lock // nil when ephemeral
	temporary string      // the folder to remove at the end; empty when not ephemeral
}

// openHome takes the state folder, or makes a temporary one. The caller closes it, once nothing uses it any more.
func (p *upPlan) openHome() (*home, error) {
	var h *home
	var err error
	if p.flags.ephemeral {
		h, err = ephemeralHome(pki.Hosts(p.host))
	} else {
		h, err = lastingHome(p.flags.data, pki.Hosts(p.host))
	}
	if err != nil {
		return nil, err
	}
	if p.flags.kubeconfig != "" {
		h.kubeconfig = p.flags.kubeconfig
	}
	if err := state.RemoveKubeconfig(h.kubeconfig); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func ephemeralHome(hosts []string) (*home, error) {
	temporary, err := os.MkdirTemp("", "bowline-")
	if err != nil {
		return nil, fmt.Errorf("making a temporary folder: %w", err)
	}
	folder := state.Folder(temporary)
	h := &home{kubeconfig: folder.Kubeconfig(), networks: folder.Networks(), ingress: folder.Ingress(), temporary: temporary}
	if h.keys, err = pki.New(hosts); err != nil {
		return nil, errors.Join(fmt.Errorf("making certificates: %w", err), h.close())
	}
	return h, nil
}

// lastingHome takes that state folder, or the user's own.
func lastingHome(data string, hosts []string) (*home, error) {
	folder, err := state.Default()
	if data != "" {
		folder, err = state.At(data)
	}
	if err != nil {
		return nil, err
	}
	lock, err := folder.Lock()
	if err != nil {
		return nil, err
	}
	h := &home{
		folder: folder, kubeconfig: folder.Kubeconfig(), networks: folder.Networks(), ingress: folder.Ingress(), lock: lock,
	}
	if h.keys, err = pki.Open(folder.Certificates(), hosts); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping certificates: %w", err), h.close())
	}
	return h, nil
}

// publish tells clients how to reach the server at that URL: by a kubeconfig, and by what the lock says.
func (h *home) publish(server string) error {
	admin := h.keys.Admin()
	key, err := admin.KeyPEM()
	if err != nil {
		return err
	}
	access := state.Access{Server: server, Authority: h.keys.AuthorityPEM(), Certificate: admin.CertPEM(), Key: key}
	if err := state.WriteKubeconfig(h.kubeconfig, access); err != nil {
		return err
	}
	if h.lock == nil {
		return nil
	}
	return h.lock.Announce(state.Holder{PID: os.Getpid(), Address: server, Kubeconfig: h.kubeconfig})
}

func (h *home) close() error {
	var err error
	if h.temporary != "" {
		err = os.RemoveAll(h.temporary)
	}
	if h.lock != nil {
		err = errors.Join(err, h.lock.Release())
	}
	return err
}
