package neutron

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gopherports "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// api is what is used of Neutron's API: https://docs.openstack.org/api-ref/network/v2. Its errors are gophercloud's, and errMoved.
type api struct {
	client  *gophercloud.ServiceClient
	timeout time.Duration
}

// errMoved is that a thing is no longer as it was when it was decided what to do with it.
var errMoved = errors.New("it was changed meanwhile")

// network is what is read of a Neutron network.
type network struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Up          bool     `json:"admin_state_up"`
	Subnets     []string `json:"subnets"`
	Created     string   `json:"created_at"`
	Revision    int      `json:"revision_number"`
}

// subnet is what is read of a Neutron subnet. Gateway is empty when it has none.
type subnet struct {
	ID          string                         `json:"id"`
	Description string                         `json:"description"`
	NetworkID   string                         `json:"network_id"`
	CIDR        string                         `json:"cidr"`
	Gateway     string                         `json:"gateway_ip"`
	Pools       []gophersubnets.AllocationPool `json:"allocation_pools"`
	Created     string                         `json:"created_at"`
	Revision    int                            `json:"revision_number"`
}

// port is what is read of a Neutron port.
type port struct {
	ID        string `json:"id"`
	NetworkID string `json:"network_id"`
	Owner     string `json:"device_owner"`
	Device    string `json:"device_id"`
}

// The fields that are asked for, since each costs Neutron time.
var (
	networkFields = []string{"id", "name", "description", "admin_state_up", "subnets", "created_at", "revision_number"}
	subnetFields  = []string{"id", "description", "network_id", "cidr", "gateway_ip", "allocation_pools", "created_at", "revision_number"}
	portFields    = []string{"id", "network_id", "device_owner", "device_id"}
)

// atOnce is how many values one list may be filtered by: they are part of the URL, whose length servers limit to 8 KiB.
const atOnce = 50

// query is a filter by exact values of which one must match, as gophercloud's lists take it.
type query url.Values

func (q query) ToNetworkListQuery() (string, error) { return "?" + url.Values(q).Encode(), nil }
func (q query) ToSubnetListQuery() (string, error)  { return "?" + url.Values(q).Encode(), nil }
func (q query) ToPortListQuery() (string, error)    { return "?" + url.Values(q).Encode(), nil }

// networks lists the networks that have one of the values in a field.
func (a *api) networks(ctx context.Context, field string, values ...string) ([]network, error) {
	return list(ctx, a, field, values, networkFields, func(ctx context.Context, q query) (page []network, err error) {
		pages, err := gophernetworks.List(a.client, q).AllPages(ctx)
		if err == nil {
			err = gophernetworks.ExtractNetworksInto(pages, &page)
		}
		return page, err
	})
}

// subnets lists the subnets that have one of the values in a field.
func (a *api) subnets(ctx context.Context, field string, values ...string) ([]subnet, error) {
	return list(ctx, a, field, values, subnetFields, func(ctx context.Context, q query) (page []subnet, err error) {
		pages, err := gophersubnets.List(a.client, q).AllPages(ctx)
		if err == nil {
			err = pages.(gophersubnets.SubnetPage).ExtractIntoSlicePtr(&page, "subnets")
		}
		return page, err
	})
}

// ports lists the ports of networks.
func (a *api) ports(ctx context.Context, networks ...string) ([]port, error) {
	return list(ctx, a, "network_id", networks, portFields, func(ctx context.Context, q query) (page []port, err error) {
		pages, err := gopherports.List(a.client, q).AllPages(ctx)
		if err == nil {
			err = gopherports.ExtractPortsInto(pages, &page)
		}
		return page, err
	})
}

// list asks for so many values at a time as fit into a URL.
func list[T any](
	ctx context.Context, a *api, field string, values, fields []string, get func(context.Context, query) ([]T, error),
) ([]T, error) {
	var all []T
	for chunk := range slices.Chunk(values, atOnce) {
		limited, cancel := context.WithTimeout(ctx, a.timeout)
		page, err := get(limited, query{field: chunk, "fields": fields})
		cancel()
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	return all, nil
}

// newNetworks are networks to be made in one request: Neutron makes all of them, or none.
type newNetworks []gophernetworks.CreateOpts

func (n newNetworks) ToNetworkCreateMap() (map[string]any, error) {
	if len(n) == 1 {
		return n[0].ToNetworkCreateMap()
	}
	return map[string]any{"networks": []gophernetworks.CreateOpts(n)}, nil
}

func (a *api) createNetworks(ctx context.Context, n newNetworks) ([]network, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var made struct {
		Network  *network
		Networks []network
	}
	err := gophernetworks.Create(ctx, a.client, n).Result.ExtractInto(&made)
	if made.Network != nil {
		made.Networks = append(made.Networks, *made.Network)
	}
	return made.Networks, err
}

func (a *api) createSubnet(ctx context.Context, s gophersubnets.CreateOpts) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	return moved(gophersubnets.Create(ctx, a.client, s).Err, http.StatusNotFound) // which is the network
}

// updateNetwork changes a network that is still as it was read.
func (a *api) updateNetwork(ctx context.Context, n network, change gophernetworks.UpdateOpts) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	change.RevisionNumber = &n.Revision
	return moved(gophernetworks.Update(ctx, a.client, n.ID, change).Err, http.StatusNotFound, http.StatusPreconditionFailed)
}

// updateSubnet changes a subnet that is still as it was read.
func (a *api) updateSubnet(ctx context.Context, s subnet, change gophersubnets.UpdateOpts) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	change.RevisionNumber = &s.Revision
	return moved(gophersubnets.Update(ctx, a.client, s.ID, change).Err, http.StatusNotFound, http.StatusPreconditionFailed)
}

func (a *api) deleteNetwork(ctx context.Context, n network) error {
	return a.delete(ctx, "networks", n.ID, n.Revision)
}

func (a *api) deleteSubnet(ctx context.Context, s subnet) error {
	return a.delete(ctx, "subnets", s.ID, s.Revision)
}

// delete removes a thing that is still as it was read. That it has gone is no error.
func (a *api) delete(ctx context.Context, resource, id string, revision int) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	_, err := a.client.Delete(ctx, a.client.ServiceURL(resource, id), &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"If-Match": fmt.Sprintf("revision_number=%d", revision)},
	})
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return moved(err, http.StatusPreconditionFailed)
}

// moved turns an answer with one of the codes into errMoved.
func moved(err error, codes ...int) error {
	if slices.ContainsFunc(codes, func(code int) bool { return gophercloud.ResponseCodeIs(err, code) }) {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	return err
}
