package neutrontest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
)

// fakeServer starts a Fake on a socket and returns its URL.
func fakeServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(&Fake{})
	t.Cleanup(server.Close)
	return server.URL
}

func names(t *testing.T, client *gophercloud.ServiceClient) (names []string) {
	t.Helper()
	pages, err := networks.List(client, networks.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := networks.ExtractNetworks(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		names = append(names, n.Name)
	}
	return names
}

// A request that a hook refuses before Neutron receives it has no effect; one whose response is dropped has.
func TestProxyInjectsFaults(t *testing.T) {
	t.Parallel()
	p := NewProxy(fakeServer(t))
	t.Cleanup(p.Close)
	client := NewClient(p.URL, "project", Member, nil)
	create := func(name string) error {
		return networks.Create(t.Context(), client, networks.CreateOpts{Name: name}).Err
	}
	if err := create("untouched"); err != nil {
		t.Fatal(err)
	}
	p.SetHooks(func(q Request) Answer { return Answer{Status: http.StatusServiceUnavailable} }, nil)
	if err := create("refused"); !gophercloud.ResponseCodeIs(err, http.StatusServiceUnavailable) {
		t.Errorf("a request that the hook refuses: got %v", err)
	}
	p.SetHooks(func(q Request) Answer { return Answer{Cut: true} }, nil)
	if err := create("cut before"); err == nil {
		t.Error("a request cut before Neutron received it: got no error")
	}
	p.SetHooks(nil, func(q Request, status int) Answer { return Answer{Cut: status == http.StatusCreated} })
	if err := create("cut after"); err == nil {
		t.Error("a request cut after Neutron processed it: got no error")
	}
	p.SetHooks(nil, nil)
	if got := names(t, client); len(got) != 2 {
		t.Errorf("got networks %q, want untouched and cut after", got)
	}
	if seen := p.Requests(); len(seen) != 5 || seen[1].What != "POST /v2.0/networks" || seen[1].N != 2 {
		t.Errorf("the proxy recorded %d requests: %+v", len(seen), seen)
	}
}

func TestKeystoneTokensExpire(t *testing.T) {
	t.Parallel()
	k, err := NewKeystone(fakeServer(t), "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	options := gophercloud.AuthOptions{
		IdentityEndpoint: k.URL, Username: "user", Password: "wrong", TenantName: "project", DomainName: "Default",
		AllowReauth: true,
	}
	if _, err := openstack.AuthenticatedClient(t.Context(), options); !gophercloud.ResponseCodeIs(err,
		http.StatusUnauthorized) {
		t.Errorf("with a wrong password: %v", err)
	}
	options.Password = "secret"
	logged, err := openstack.AuthenticatedClient(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	client, err := openstack.NewNetworkV2(logged, gophercloud.EndpointOpts{})
	if err != nil {
		t.Fatal(err)
	}
	if err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "n"}).Err; err != nil {
		t.Fatal(err)
	}
	k.Expire()
	if got := names(t, client); len(got) != 1 || k.Logins() != 2 {
		t.Errorf("after the token expired: %q with %d logins, want n with 2", got, k.Logins())
	}
}
