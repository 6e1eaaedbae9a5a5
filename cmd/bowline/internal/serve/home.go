// Package serve contains the code that bowline up and bowline fork share: a server's certificates and
// kubeconfig, the selection of controllers, and the tuning of the garbage collector.
package serve

import (
	"errors"
	"fmt"
	"os"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// Home holds the certificates of a server and the paths of its files.
type Home struct {
	Certificates *pki.Keeper
	Folder       state.Folder // of the plane's identity and objects; empty if ephemeral
	Kubeconfig   string
	Networks     string // folder for the records of networks
	Ingress      string // folder for nginx's files

	lock      *state.Lock      // nil if ephemeral
	temporary *state.Temporary // nil if not ephemeral; Close removes it
}

// OpenEphemeral creates a Home in a temporary folder, with new certificates, and removes the folders of killed
// servers. The caller closes it.
func OpenEphemeral(hosts []string) (*Home, error) {
	state.RemoveLeftovers()
	temporary, err := state.NewTemporary()
	if err != nil {
		return nil, err
	}
	folder := temporary.Folder
	h := &Home{Kubeconfig: folder.Kubeconfig(), Networks: folder.Networks(), Ingress: folder.Ingress(),
		temporary: temporary}
	if h.Certificates, err = pki.New(hosts); err != nil {
		return nil, errors.Join(fmt.Errorf("creating certificates: %w", err), h.Close())
	}
	return h, nil
}

// Open locks the state folder data, or the user's default folder if data is empty, and loads or creates the
// certificates. Like OpenEphemeral, it removes the temporary folders of killed servers. The caller closes it.
func Open(data string, hosts []string) (*Home, error) {
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
	state.RemoveLeftovers()
	h := &Home{
		Folder: folder, Kubeconfig: folder.Kubeconfig(), Networks: folder.Networks(), Ingress: folder.Ingress(),
		lock: lock,
	}
	if h.Certificates, err = pki.Open(folder.Certificates(), hosts); err != nil {
		return nil, errors.Join(fmt.Errorf("storing certificates: %w", err), h.Close())
	}
	return h, nil
}

// Publish writes the kubeconfig for the given server URL, and adds the URL to the lock file.
func (h *Home) Publish(server string) error {
	admin := h.Certificates.Admin()
	key, err := admin.KeyPEM()
	if err != nil {
		return err
	}
	access := state.Access{Server: server, Authority: h.Certificates.AuthorityPEM(), Certificate: admin.CertPEM(),
		Key: key}
	if err := state.WriteKubeconfig(h.Kubeconfig, access); err != nil {
		return err
	}
	if h.lock == nil {
		return nil
	}
	return h.lock.Announce(state.Holder{PID: os.Getpid(), Address: server, Kubeconfig: h.Kubeconfig})
}

// Close releases the lock, or removes the temporary folder.
func (h *Home) Close() error {
	var err error
	if h.temporary != nil {
		err = h.temporary.Remove()
	}
	if h.lock != nil {
		err = errors.Join(err, h.lock.Release())
	}
	return err
}
