package neutrontest

import (
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
)

// The roles that a client may have. An administrator sees every project, and sets quotas.
const (
	Member = "member"
	Admin  = "admin"
)

// NewClient is a client of the Neutron at an endpoint, which may be a Proxy's, with one role in one project. transport is
// nil for the network.
func NewClient(endpoint, project, role string, transport http.RoundTripper) *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: "none", HTTPClient: http.Client{Transport: transport}},
		Endpoint:       endpoint + "/",
		ResourceBase:   endpoint + "/v2.0/",
		Type:           "network",
		MoreHeaders:    map[string]string{"X-User-Id": "somebody", "X-Project-Id": project, "X-Roles": role},
	}
}
