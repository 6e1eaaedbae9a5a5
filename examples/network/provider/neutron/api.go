package neutron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// api is a client for the part of Neutron's API that the provider uses:
// https://docs.openstack.org/api-ref/network/v2. Its errors are those of gophercloud and the ones below.
type api struct {
	client  *gophercloud.ServiceClient
	timeout time.Duration
}

var (
	// errConflict means that a resource has changed since it was read, so the decision to write is outdated.
	errConflict = errors.New("the resource was changed by another client")
	// errNoNeutron means that a successful response lacks the requested content.
	errNoNeutron = errors.New("the response is not one of Neutron")
)

// network contains the fields of a Neutron network that the provider reads.
type network struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Up          bool     `json:"admin_state_up"`
	Subnets     []string `json:"subnets"`
	Created     string   `json:"created_at"`
	Revision    int      `json:"revision_number"`
}

// subnet contains the fields of a Neutron subnet that the provider reads. Gateway is empty if it has none.
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

// port contains the fields of a Neutron port that the provider reads.
type port struct {
	ID        string `json:"id"`
	NetworkID string `json:"network_id"`
	Owner     string `json:"device_owner"`
	Device    string `json:"device_id"`
}

// The requested fields. Neutron computes only these, which saves time.
var (
	networkFields = []string{"id", "name", "description", "admin_state_up", "subnets", "created_at", "revision_number"}
	subnetFields  = []string{"id", "description", "network_id", "cidr", "gateway_ip", "allocation_pools", "created_at",
		"revision_number"}
	portFields = []string{"id", "network_id", "device_owner", "device_id"}
)

// valuesPerRequest is the number of filter values in one list request: they are part of the URL, which servers limit to
// 8 KiB.
const valuesPerRequest = 50

// maxPages limits the pages of a list, so that links that form a loop end in an error.
const maxPages = 10_000

// networks lists the networks whose field has one of the values.
func (a *api) networks(ctx context.Context, field string, values ...string) ([]network, error) {
	return list[network](ctx, a, "networks", networkFields, field, values)
}

// subnets lists the subnets whose field has one of the values.
func (a *api) subnets(ctx context.Context, field string, values ...string) ([]subnet, error) {
	return list[subnet](ctx, a, "subnets", subnetFields, field, values)
}

// ports lists the ports of networks.
func (a *api) ports(ctx context.Context, networks ...string) ([]port, error) {
	return list[port](ctx, a, "ports", portFields, "network_id", networks)
}

// list lists the resources of a collection whose field has one of the values, with as many values in each
// request as fit into a URL.
func list[T any](ctx context.Context, a *api, collection string, fields []string, field string,
	values []string) ([]T, error) {
	var all []T
	for chunk := range slices.Chunk(values, valuesPerRequest) {
		first := a.client.ServiceURL(collection)
		next := first + "?" + url.Values{field: chunk, "fields": fields}.Encode()
		for pages := 0; ; pages++ {
			if pages == maxPages {
				return nil, fmt.Errorf("%w: the list of %s has more than %d pages", errNoNeutron, collection, maxPages)
			}
			page, following, err := page[T](ctx, a, collection, next)
			if err != nil {
				return nil, err
			}
			all = append(all, page...)
			if following == "" {
				break
			}
			following = first + "?" + following
			if following == next {
				return nil, fmt.Errorf("%w: a page of %s links to itself", errNoNeutron, collection)
			}
			next = following
		}
	}
	return all, nil
}

// page reads one page of a collection and returns the query of the link to the next page. It ignores the scheme, host
// and path of the link: they may be wrong behind a proxy, and another host would receive the token. A response without
// the collection, such as that of a proxy in front of an unavailable Neutron, is errNoNeutron. gophercloud's own lists
// would be empty, and existing networks would appear to be gone.
func page[T any](ctx context.Context, a *api, collection, at string) (page []T, query string, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var answer map[string]json.RawMessage
	if _, err := a.client.Get(ctx, at, &answer, nil); err != nil {
		return nil, "", err
	}
	err = json.Unmarshal(answer[collection], &page)
	if err != nil || page == nil {
		return nil, "", errors.Join(errNoNeutron, err)
	}
	var links []gophercloud.Link
	if text, ok := answer[collection+"_links"]; ok {
		err = json.Unmarshal(text, &links)
	}
	if err != nil {
		return nil, "", errors.Join(errNoNeutron, err)
	}
	next, err := gophercloud.ExtractNextURL(links)
	if err != nil || next == "" {
		return page, "", err
	}
	link, err := url.Parse(next)
	if err != nil || link.RawQuery == "" {
		return nil, "", errors.Join(fmt.Errorf("%w: the link to the next page has no query", errNoNeutron), err)
	}
	return page, link.RawQuery, nil
}

// newNetworks are networks to be created in one request. Neutron creates all of them or none.
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
	return asConflict(gophersubnets.Create(ctx, a.client, s).Err, http.StatusNotFound) // the network is gone
}

// updateNetwork changes a network on the condition that it has not changed since it was read.
func (a *api) updateNetwork(ctx context.Context, n network, change gophernetworks.UpdateOpts) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	change.RevisionNumber = &n.Revision
	return asConflict(gophernetworks.Update(ctx, a.client, n.ID, change).Err, http.StatusNotFound,
		http.StatusPreconditionFailed)
}

// updateSubnet changes a subnet on the condition that it has not changed since it was read.
func (a *api) updateSubnet(ctx context.Context, s subnet, change gophersubnets.UpdateOpts) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	change.RevisionNumber = &s.Revision
	return asConflict(gophersubnets.Update(ctx, a.client, s.ID, change).Err, http.StatusNotFound,
		http.StatusPreconditionFailed)
}

func (a *api) deleteNetwork(ctx context.Context, n network) error {
	return a.delete(ctx, "networks", n.ID, n.Revision)
}

func (a *api) deleteSubnet(ctx context.Context, s subnet) error {
	return a.delete(ctx, "subnets", s.ID, s.Revision)
}

// delete removes a resource on the condition that it has not changed since it was read. It succeeds if the
// resource is already gone.
func (a *api) delete(ctx context.Context, resource, id string, revision int) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	_, err := a.client.Delete(ctx, a.client.ServiceURL(resource, id), &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"If-Match": fmt.Sprintf("revision_number=%d", revision)},
	})
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return asConflict(err, http.StatusPreconditionFailed)
}

// asConflict converts a response with one of the status codes into errConflict.
func asConflict(err error, codes ...int) error {
	if slices.ContainsFunc(codes, func(code int) bool { return gophercloud.ResponseCodeIs(err, code) }) {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	return err
}
