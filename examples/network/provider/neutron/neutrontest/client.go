package neutrontest

import (
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
)

// The roles of a client. An administrator sees every project and sets quotas.
const (
	Member = "member"
	Admin  = "admin"
)

// NewClient returns a client for the Neutron, or the Proxy, at an endpoint with one role in one project. A
// nil transport means http.DefaultTransport.
func NewClient(endpoint, project, role string, transport http.RoundTripper) *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: "none", HTTPClient: http.Client{Transport: transport}},
		Endpoint:       endpoint + "/",
		ResourceBase:   endpoint + "/v2.0/",
		Type:           "network",
		MoreHeaders:    map[string]string{"X-User-Id": "somebody", "X-Project-Id": project, "X-Roles": role},
	}
}
