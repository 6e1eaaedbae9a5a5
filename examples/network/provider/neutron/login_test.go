package neutron

import (
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// A file of the dashboard may contain both an ID and a name.
func TestIDsOverrideNames(t *testing.T) {
	o := newOpenStack(t)
	for name, more := range map[string]map[string]string{
		"user":    {"OS_USER_ID": "u", "OS_USER_DOMAIN_ID": "default"},
		"domains": {"OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_NAME": "Default"},
		"project": {"OS_PROJECT_ID": "p"},
	} {
		setEnvironment(t, o.variables("secret"))
		for variable, value := range more {
			t.Setenv(variable, value)
		}
		if _, err := FromEnvironment(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A login that cannot succeed ends the program with an error that names the variable to change; it is not
// retried.
func TestPermanentLoginErrors(t *testing.T) {
	o := newOpenStack(t)
	secure := httptest.NewTLSServer(o.Config.Handler)
	t.Cleanup(secure.Close)
	contradictory := filepath.Join(t.TempDir(), "clouds.yaml")
	must(t, os.WriteFile(contradictory, []byte(`
clouds: {mine: {auth: {auth_url: "`+o.URL+`/identity/v3", username: u, user_id: u, password: secret, project_id: p}}}
`), 0o600))
	for says, variables := range map[string]map[string]string{
		"is not trusted: set OS_CACERT": {"OS_AUTH_URL": secure.URL + "/identity/v3"},
		"has no TLS: use http": {"OS_AUTH_URL": strings.Replace(o.URL, "http:", "https:",
			1) + "/identity/v3"},
		"with OS_CLOUD or the other OS_* variables failed: ": {"OS_CLOUD": "mine",
			"OS_CLIENT_CONFIG_FILE": contradictory},
	} {
		all := o.variables("secret")
		maps.Copy(all, variables)
		setEnvironment(t, all)
		_, err := FromEnvironment(t.Context())
		var problem *provider.Problem
		if errors.As(err, &problem) || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got error %v; want %s", err, says)
		}
	}
}

func TestCloudCertificateAuthority(t *testing.T) {
	o := newOpenStack(t)
	secure := httptest.NewTLSServer(o.Config.Handler)
	t.Cleanup(secure.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(authority,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	setEnvironment(t, o.variables("secret"))
	t.Setenv("OS_AUTH_URL", secure.URL+"/identity/v3")
	t.Setenv("OS_CACERT", authority)
	_, err := FromEnvironment(t.Context())
	must(t, err)
}

func TestKeystoneStatusCodes(t *testing.T) {
	for answer, want := range map[int]provider.Reason{
		http.StatusUnauthorized: provider.Unauthorized, http.StatusForbidden: provider.Unauthorized,
		http.StatusTooManyRequests: provider.Unreachable, http.StatusServiceUnavailable: provider.Unreachable,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answer)
		}))
		t.Cleanup(server.Close)
		setEnvironment(t, map[string]string{
			"OS_AUTH_URL": server.URL + "/v3", "OS_USERID": "u", "OS_PASSWORD": "p", "OS_PROJECT_ID": "p",
		})
		_, err := FromEnvironment(t.Context())
		if reason, message := reasonOf(t, err); reason != want {
			t.Errorf("status %d: got %s, %s; want %s", answer, reason, message, want)
		}
	}
}
