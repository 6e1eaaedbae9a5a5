package neutron

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// setEnvironment sets the variables and clears all other OpenStack variables.
func setEnvironment(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, line := range os.Environ() {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "OS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // no clouds.yaml of the user
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

func TestConfigured(t *testing.T) {
	setEnvironment(t, map[string]string{"OS_PROJECT_NAME": "p"})
	if Configured() {
		t.Error("Configured is true with only OS_PROJECT_NAME set")
	}
	for _, name := range named {
		setEnvironment(t, map[string]string{name: "x"})
		if !Configured() {
			t.Errorf("Configured is false with %s set", name)
		}
	}
}

func TestInvalidEnvironmentNamesVariable(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "clouds.yaml")
	must(t, os.WriteFile(broken, []byte("clouds: {other: {}, empty: {}, nowhere: {auth: {username: u}}}"), 0o600))
	for says, variables := range map[string]map[string]string{
		"set OS_CLOUD, or OS_AUTH_URL": {},
		"OS_ENDPOINT is not set":       {"OS_AUTH_TYPE": "none"},
		"without OS_AUTH_TYPE=none":    {"OS_ENDPOINT": "http://127.0.0.1:9696"},
		`invalid OS_ENDPOINT "127.0.0.1:9696"`: {"OS_AUTH_TYPE": "none",
			"OS_ENDPOINT": "127.0.0.1:9696"},
		`invalid OS_AUTH_URL "cloud.example.org"`: {"OS_AUTH_URL": "cloud.example.org",
			"OS_USERNAME": "u", "OS_PASSWORD": "p"},
		"OS_AUTH_URL is not set: set it": {"OS_USERNAME": "u", "OS_PASSWORD": "p",
			"OS_PROJECT_NAME": "p"},
		"OS_USERNAME is not set": {"OS_AUTH_URL": "http://127.0.0.1:1/v3"},
		"OS_PASSWORD is not set": {"OS_AUTH_URL": "http://127.0.0.1:1/v3",
			"OS_USERNAME": "u", "OS_DOMAIN_ID": "default"},
		"OS_USER_DOMAIN_NAME is not set": {"OS_AUTH_URL": "http://127.0.0.1:1/v3",
			"OS_USERNAME": "u"},
		"OS_PROJECT_NAME is not set": {"OS_AUTH_URL": "http://127.0.0.1:1/v3",
			"OS_USERID": "u", "OS_PASSWORD": "p"},
		"OS_PROJECT_DOMAIN_NAME is not set": {"OS_AUTH_URL": "http://127.0.0.1:1/v3",
			"OS_USERID": "u", "OS_PASSWORD": "p", "OS_PROJECT_NAME": "p"},
		"OS_APPLICATION_CREDENTIAL_SECRET is not set": {"OS_AUTH_URL": "http://127.0.0.1:1/v3",
			"OS_APPLICATION_CREDENTIAL_ID": "a"},
		`OS_CLOUD is "mine": clouds file not found`: {"OS_CLOUD": "mine"},
		`OS_CLOUD is "mine": cloud "mine" not found`: {"OS_CLOUD": "mine",
			"OS_CLIENT_CONFIG_FILE": broken},
		`OS_CLOUD is "empty": it has no auth section`: {"OS_CLOUD": "empty",
			"OS_CLIENT_CONFIG_FILE": broken},
		`OS_CLOUD is "nowhere": invalid auth_url ""`: {"OS_CLOUD": "nowhere",
			"OS_CLIENT_CONFIG_FILE": broken},
	} {
		setEnvironment(t, variables)
		if _, err := FromEnvironment(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("environment %v: got error %v; want %s", variables, err, says)
		}
	}
}

func TestNeutronWithoutKeystone(t *testing.T) {
	server := httptest.NewServer(&neutrontest.Fake{})
	t.Cleanup(server.Close)
	setEnvironment(t, map[string]string{"OS_AUTH_TYPE": "none", "OS_ENDPOINT": server.URL,
		"OS_PROJECT_ID": "without-keystone"})
	client, err := FromEnvironment(t.Context())
	must(t, err)
	p, err := New(plane, client, Options{})
	must(t, err)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	if uids, err := p.List(t.Context()); err != nil || len(uids) != 1 {
		t.Errorf("List returned %q, %v", uids, err)
	}
}

// openStack is a Keystone, whose password may change and whose tokens may be revoked, in front of a Neutron
// in memory.
type openStack struct {
	*httptest.Server
	password atomic.Value
	token    atomic.Int64 // number of the valid token
	logins   atomic.Int64
}

func newOpenStack(t *testing.T) *openStack {
	t.Helper()
	o := &openStack{}
	o.password.Store("secret")
	neutron := neutrontest.Fake{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /identity/v3/auth/tokens", o.login)
	mux.HandleFunc("/network/", func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("X-Auth-Token") != o.valid() {
			http.Error(w, "Authentication required", http.StatusUnauthorized)
			return
		}
		for name, value := range map[string]string{"X-User-Id": "u", "X-Project-Id": "p", "X-Roles": "member"} {
			q.Header.Set(name, value)
		}
		http.StripPrefix("/network", &neutron).ServeHTTP(w, q)
	})
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

func (o *openStack) valid() string { return "token-" + string(rune('a'+o.token.Load())) }

func (o *openStack) login(w http.ResponseWriter, q *http.Request) {
	o.logins.Add(1)
	var request struct {
		Auth struct {
			Identity struct {
				Password struct{ User struct{ Password string } }
			}
		}
	}
	if err := json.NewDecoder(q.Body).Decode(&request); err != nil ||
		request.Auth.Identity.Password.User.Password != o.password.Load() {
		http.Error(w, `{"error":{"code":401,"message":"The request you have made requires authentication."}}`,
			http.StatusUnauthorized)
		return
	}
	w.Header().Set("X-Subject-Token", o.valid())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	answer := map[string]any{"token": map[string]any{
		"expires_at": "2999-01-01T00:00:00.000000Z",
		"catalog": []any{map[string]any{"type": "network", "name": "neutron", "endpoints": []any{
			map[string]any{"interface": "public", "region": "one", "region_id": "one", "url": o.URL + "/network"},
		}}},
	}}
	json.NewEncoder(w).Encode(answer)
}

func (o *openStack) variables(password string) map[string]string {
	return map[string]string{
		"OS_AUTH_URL": o.URL + "/identity/v3", "OS_USERNAME": "u", "OS_PASSWORD": password, "OS_PROJECT_NAME": "p",
		"OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_DOMAIN_ID": "default", "OS_REGION_NAME": "one",
	}
}

func TestTokensAreRenewed(t *testing.T) {
	o := newOpenStack(t)
	setEnvironment(t, o.variables("secret"))
	client, err := FromEnvironment(t.Context())
	must(t, err)
	p, err := New(plane, client, Options{})
	must(t, err)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	o.token.Add(1) // the old token has expired
	apply(t, p, wanted("uid", "10.2.0.0/16", "10.2.0.1"))
	if logins := o.logins.Load(); logins != 2 {
		t.Errorf("got %d logins, want one more than before", logins)
	}

	o.password.Store("changed")
	o.token.Add(1)
	_, err = p.Get(t.Context(), "uid")
	if reason, message := reasonOf(t, err); reason != provider.Unauthorized ||
		!strings.Contains(message, "rejects the credentials") {
		t.Errorf("after the password changed: got %s, %s", reason, message)
	}
	o.Close()
	_, err = p.Get(t.Context(), "uid")
	if reason, message := reasonOf(t, err); reason != provider.Unreachable {
		t.Errorf("no server: got %s, %s", reason, message)
	}
}

func TestCloudFromCloudsFile(t *testing.T) {
	o := newOpenStack(t)
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	must(t, os.WriteFile(file, []byte(`
clouds:
  mine:
    region_name: one
    auth: {auth_url: `+o.URL+`/identity/v3, username: u, password: secret, project_name: p, user_domain_name: Default, project_domain_name: Default}
`), 0o600))
	setEnvironment(t, map[string]string{"OS_CLOUD": "mine", "OS_CLIENT_CONFIG_FILE": file})
	client, err := FromEnvironment(t.Context())
	must(t, err)
	p, err := New(plane, client, Options{})
	must(t, err)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
}

func TestLoginFailures(t *testing.T) {
	o := newOpenStack(t)
	setEnvironment(t, o.variables("wrong"))
	_, err := FromEnvironment(t.Context())
	if reason, message := reasonOf(t, err); reason != provider.Unauthorized ||
		!strings.Contains(message, "OS_PASSWORD") {
		t.Errorf("wrong password: got %s, %s", reason, message)
	}
	setEnvironment(t, o.variables("secret"))
	t.Setenv("OS_REGION_NAME", "two")
	if _, err := FromEnvironment(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `OS_REGION_NAME is "two", for which Keystone`) {
		t.Errorf("no Neutron in the region: got error %v", err)
	}
	t.Setenv("OS_AUTH_URL", o.URL+"/elsewhere/v3")
	if _, err := FromEnvironment(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "is not Keystone") {
		t.Errorf("no Keystone at the address: got error %v", err)
	}
	o.Close()
	_, err = FromEnvironment(t.Context())
	if reason, _ := reasonOf(t, err); reason != provider.Unreachable {
		t.Errorf("no server: got error %v", err)
	}
}
