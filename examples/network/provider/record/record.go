// Package record implements provider.Provider with a JSON file for each network. It needs no privileges. It
// is used where the bridge provider is not permitted, and in tests, with files in memory (see FS).
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// extension ends the name of a record; the part before it is the network's ID.
const extension = ".json"

// Provider stores a file for each network.
type Provider struct {
	plane string
	files FS
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider for one plane. Planes may share a folder.
func New(plane string, files FS) (*Provider, error) {
	if err := provider.CheckPlane(plane); err != nil {
		return nil, err
	}
	return &Provider{plane: plane, files: files}, nil
}

// record is the content of a file.
type record struct {
	Plane   string       `json:"plane"`
	UID     types.UID    `json:"uid"`
	Owner   string       `json:"network"`
	CIDR    netip.Prefix `json:"cidr"`
	Gateway netip.Addr   `json:"gateway"`
}

// Name implements provider.Provider.
func (p *Provider) Name() string { return "record" }

// ID implements provider.Provider.
func (p *Provider) ID(uid types.UID) string { return provider.ID(p.plane, uid) }

func (p *Provider) file(uid types.UID) string { return p.ID(uid) + extension }

// owner returns the UID of a record's network if the record belongs to this plane.
func (p *Provider) owner(file string) (types.UID, bool) {
	id, ok := strings.CutSuffix(file, extension)
	if !ok {
		return "", false
	}
	return provider.ParseID(p.plane, id)
}

// List implements provider.Provider.
func (p *Provider) List(context.Context) ([]types.UID, error) {
	files, err := p.files.List()
	if err != nil {
		return nil, fmt.Errorf("list network records: %w", err)
	}
	var uids []types.UID
	for _, file := range files {
		if uid, ok := p.owner(file); ok {
			uids = append(uids, uid)
		}
	}
	return uids, nil
}

// Get implements provider.Provider.
func (p *Provider) Get(_ context.Context, uid types.UID) (provider.Actual, error) {
	if provider.CheckUID(uid) != nil { // such a UID has no file, and Apply rejects it
		return provider.Actual{}, provider.ErrNotFound
	}
	data, err := p.files.Read(p.file(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return provider.Actual{}, provider.ErrNotFound
	}
	if err != nil {
		return provider.Actual{}, fmt.Errorf("read the record of network %s: %w", p.ID(uid), err)
	}
	actual := provider.Actual{ID: p.ID(uid)}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		actual.Fault = "its record is not valid JSON: " + err.Error()
		return actual, nil
	}
	actual.CIDR, actual.Gateway = r.CIDR, r.Gateway
	if r.UID != uid || r.Plane != p.plane {
		actual.Fault = fmt.Sprintf("its record names plane %q and uid %q", r.Plane, r.UID)
	}
	return actual, nil
}

// Apply implements provider.Provider.
func (p *Provider) Apply(_ context.Context, want provider.Network) error {
	if err := provider.CheckUID(want.UID); err != nil {
		return err
	}
	r := record{Plane: p.plane, UID: want.UID, Owner: want.Owner, CIDR: want.CIDR, Gateway: want.Gateway}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := p.files.Write(p.file(want.UID), append(data, '\n')); err != nil {
		return fmt.Errorf("write the record of network %s: %w", p.ID(want.UID), err)
	}
	return nil
}

// Delete implements provider.Provider.
func (p *Provider) Delete(_ context.Context, uid types.UID) error {
	if provider.CheckUID(uid) != nil { // as in Get
		return nil
	}
	if err := p.files.Remove(p.file(uid)); err != nil {
		return fmt.Errorf("remove the record of network %s: %w", p.ID(uid), err)
	}
	return nil
}

// Watch implements provider.Provider.
func (p *Provider) Watch(ctx context.Context, changed func(types.UID)) error {
	return p.files.Watch(ctx, func(name string) {
		if name == "" {
			changed("")
		} else if uid, ok := p.owner(name); ok {
			changed(uid)
		}
	})
}
