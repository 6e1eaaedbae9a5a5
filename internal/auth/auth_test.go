package auth_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

func newKeeper(t *testing.T) *pki.Keeper {
	t.Helper()
	keeper, err := pki.New([]string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

func issue(t *testing.T, keeper *pki.Keeper, name string, groups ...string) *x509.Certificate {
	t.Helper()
	pair, err := keeper.IssueClient(name, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Certificate
}

// requestWith returns a request over a connection on which the client sent these certificates.
func requestWith(certificates ...*x509.Certificate) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: certificates}
	return r
}

func TestCertificateNamesUserAndGroups(t *testing.T) {
	t.Parallel()
	keeper := newKeeper(t)
	authenticator := auth.ClientCertificates(keeper.Roots())
	r := requestWith(issue(t, keeper, "jane", "devs", "ops"))
	for range 2 { // verified, then cached
		user, ok, err := authenticator.Authenticate(r)
		if !ok || err != nil {
			t.Fatalf("got ok %v, error %v", ok, err)
		}
		if user.Name != "jane" || !slices.Equal(slices.Sorted(slices.Values(user.Groups)),
			[]string{"devs", "ops", auth.AuthenticatedGroup}) {
			t.Errorf("got %+v", user)
		}
		if id := user.Extra["authentication.kubernetes.io/credential-id"]; len(id) != 1 ||
			!strings.HasPrefix(id[0], "X509SHA256=") {
			t.Errorf("got the credential ID %v", id)
		}
	}
}

// TestConnectionsWithOneCertificateShareItsUser checks that a certificate parsed twice is verified once.
func TestConnectionsWithOneCertificateShareItsUser(t *testing.T) {
	t.Parallel()
	keeper := newKeeper(t)
	authenticator := auth.ClientCertificates(keeper.Roots())
	certificate := issue(t, keeper, "jane")
	reparsed, err := x509.ParseCertificate(certificate.Raw)
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := authenticator.Authenticate(requestWith(certificate))
	second, _, errAgain := authenticator.Authenticate(requestWith(reparsed))
	if err != nil || errAgain != nil || first != second {
		t.Errorf("got %p and %p (%v, %v)", first, second, err, errAgain)
	}
}

func TestRequestWithoutCertificateIsNotAuthenticated(t *testing.T) {
	t.Parallel()
	authenticator := auth.ClientCertificates(newKeeper(t).Roots())
	plain := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, r := range []*http.Request{plain, requestWith()} {
		if _, ok, err := authenticator.Authenticate(r); ok || err != nil {
			t.Errorf("got ok %v, error %v", ok, err)
		}
	}
}

func TestInvalidCertificatesAreRejected(t *testing.T) {
	t.Parallel()
	keeper := newKeeper(t)
	server, err := keeper.ServerConfig().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificate := range map[string]*x509.Certificate{
		"of another authority": issue(t, newKeeper(t), "eve", auth.AdminGroup),
		"of a server":          server.Leaf,
		"without a name":       issue(t, keeper, "", auth.AdminGroup),
	} {
		user, ok, err := auth.ClientCertificates(keeper.Roots()).Authenticate(requestWith(certificate))
		if ok || err == nil {
			t.Errorf("certificate %s: got ok %v, user %+v, error %v", name, ok, user, err)
		}
	}
}

func TestCachedCertificateExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keeper := newKeeper(t)
		authenticator := auth.ClientCertificates(keeper.Roots())
		r := requestWith(issue(t, keeper, "jane"))
		if _, ok, err := authenticator.Authenticate(r); !ok {
			t.Fatal(err)
		}
		time.Sleep(366 * 24 * time.Hour)
		if _, ok, err := authenticator.Authenticate(r); ok || err == nil {
			t.Errorf("an expired certificate was accepted (error %v)", err)
		}
	})
}

func TestInProcessIdentityIsInContext(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if _, ok, err := auth.InProcess().Authenticate(r); ok || err != nil {
		t.Errorf("without a user in the context: got ok %v, error %v", ok, err)
	}
	want := auth.NewUser("controller", auth.AdminGroup)
	user, ok, err := auth.InProcess().Authenticate(r.WithContext(auth.WithUser(r.Context(), want)))
	if !ok || err != nil || user != want {
		t.Errorf("got %+v, ok %v, error %v", user, ok, err)
	}
}

func TestAnonymousReachesOpenPathsOnly(t *testing.T) {
	t.Parallel()
	for path, open := range map[string]bool{
		"/livez": true, "/readyz": true, "/healthz": true, "/version": true, "/version/": true,
		"/": false, "/metrics": false, "/api": false, "/api/v1/pods": false, "/livezz": false, "/livez/../api": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		user, ok, err := auth.Anonymous().Authenticate(r)
		if ok != open || err != nil {
			t.Errorf("path %s: got ok %v, want %v (error %v)", path, ok, open, err)
		}
		if ok && (user.Name != auth.AnonymousName || user.In(auth.AuthenticatedGroup)) {
			t.Errorf("path %s: got user %+v", path, user)
		}
	}
}

func TestInvalidCredentialIsNotAnonymous(t *testing.T) {
	t.Parallel()
	bad := auth.AuthenticatorFunc(func(*http.Request) (*auth.User, bool, error) {
		return nil, false, errors.New("bad")
	})
	r := httptest.NewRequest(http.MethodGet, "/livez", nil)
	if _, ok, err := auth.FirstOf(bad, auth.Anonymous()).Authenticate(r); ok || err == nil {
		t.Errorf("got ok %v, error %v", ok, err)
	}
	if user, ok, err := auth.FirstOf(auth.InProcess(), auth.Anonymous()).Authenticate(r); !ok || err != nil {
		t.Errorf("got user %+v, error %v", user, err)
	}
}

func TestAuthorization(t *testing.T) {
	t.Parallel()
	admin, jane := auth.NewUser("root", auth.AdminGroup), auth.NewUser("jane", "devs")
	anonymous := &auth.User{Name: auth.AnonymousName, Groups: []string{auth.UnauthenticatedGroup}}
	pods := auth.Attributes{IsResource: true, Verb: "list", Resource: "pods", Namespace: "default"}
	path := func(p string) auth.Attributes { return auth.Attributes{Verb: "get", Path: p} }
	for _, test := range []struct {
		who   *auth.User
		what  auth.Attributes
		allow bool
	}{
		{admin, pods, true},
		{admin, path("/metrics"), true},
		{admin, auth.Attributes{Verb: "post", Path: "/anything"}, true},
		{jane, pods, false},
		{jane, path("/metrics"), false},
		{jane, path("/version"), true},
		{jane, path("/apis"), true},
		{jane, path("/openapi/v3"), true},
		{jane, path("/apisecret"), false},
		{jane, auth.Attributes{Verb: "post", Path: "/version"}, false},
		{anonymous, pods, false},
		{anonymous, path("/livez"), true},
		{anonymous, path("/apis"), false},
		{nil, pods, false},
		{nil, path("/livez"), false},
	} {
		test.what.User = test.who
		decision, _, err := auth.Union(auth.Admins(), auth.PublicPaths()).Authorize(t.Context(), test.what)
		if err != nil || (decision == auth.Allow) != test.allow {
			t.Errorf("%+v: got decision %v, error %v", test.what, decision, err)
		}
	}
}

func TestFirstDecisionCounts(t *testing.T) {
	t.Parallel()
	answer := func(d auth.Decision, reason string, err error) auth.Authorizer {
		return auth.AuthorizerFunc(func(context.Context, auth.Attributes) (auth.Decision, string, error) {
			return d, reason, err
		})
	}
	broken := errors.New("cannot read the rules")
	decision, reason, err := auth.Union(answer(auth.NoOpinion, "", broken), answer(auth.Deny, "no", nil),
		answer(auth.Allow, "", nil)).
		Authorize(t.Context(), auth.Attributes{})
	if decision != auth.Deny || reason != "no" || err != nil {
		t.Errorf("got %v %q %v", decision, reason, err)
	}
	decision, reason, err = auth.Union(answer(auth.NoOpinion, "a", broken), answer(auth.NoOpinion, "b", nil)).
		Authorize(t.Context(), auth.Attributes{})
	if decision != auth.NoOpinion || reason != "a, b" || !errors.Is(err, broken) {
		t.Errorf("got %v %q %v", decision, reason, err)
	}
}

func TestForbiddenMessageMatchesKubernetes(t *testing.T) {
	t.Parallel()
	jane := auth.NewUser("jane")
	for _, test := range []struct {
		what   auth.Attributes
		reason string
		want   string
	}{
		{auth.Attributes{IsResource: true, Verb: "list", Resource: "configmaps", Namespace: "default"}, "",
			`configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "default"`},
		{auth.Attributes{IsResource: true, Verb: "list", Group: "samplecrd.example.com", Resource: "networks"}, "",
			`networks.samplecrd.example.com is forbidden: User "jane" cannot list resource "networks" in API group "samplecrd.example.com" at the cluster scope`},
		{auth.Attributes{IsResource: true, Verb: "get", Resource: "pods", Subresource: "log", Namespace: "default",
			Name: "x"}, "",
			`pods "x" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace "default"`},
		{auth.Attributes{Verb: "get", Path: "/metrics"}, "", `forbidden: User "jane" cannot get path "/metrics"`},
		{auth.Attributes{Verb: "get", Path: "/metrics"}, "ask ops",
			`forbidden: User "jane" cannot get path "/metrics": ask ops`},
	} {
		test.what.User = jane
		status := auth.Forbidden(test.what, test.reason).Status()
		if status.Message != test.want || status.Code != 403 {
			t.Errorf("got  %d %s\nwant 403 %s", status.Code, status.Message, test.want)
		}
		if status.Details.Kind != test.what.Resource || status.Details.Group != test.what.Group ||
			status.Details.Name != test.what.Name {
			t.Errorf("got details %+v for %+v", status.Details, test.what)
		}
	}
}
