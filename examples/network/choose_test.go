package network

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/examples/network/provider/bridge"
)

func notRoot() error { return errors.New("not root") }

func permitted() error { return nil }

func TestAutoPrefersNeutronThenBridgeThenRecord(t *testing.T) {
	t.Setenv("OS_AUTH_TYPE", "none")
	t.Setenv("OS_ENDPOINT", "http://127.0.0.1:9696")
	for want, c := range map[string]choice{
		ProviderNeutron: {openStack: true},
		ProviderRecord:  {bridgeError: notRoot},
		ProviderBridge:  {bridgeError: permitted},
	} {
		c.plane, c.folder = "plane", t.TempDir()
		for _, c.name = range []string{ProviderAuto, ""} {
			p, why, err := c.provider(t.Context())
			if want == ProviderBridge && bridge.Probe() != nil {
				continue // on this system there is none to make
			}
			if err != nil || p.Name() != want || why == "" || want == ProviderRecord &&
				!strings.Contains(why, "not root") {
				t.Errorf("provider %q: got %v, %q, %v; want %s", c.name, p, why, err, want)
			}
		}
	}
}

func TestNamedProviderIsUsed(t *testing.T) {
	t.Setenv("OS_AUTH_TYPE", "none")
	t.Setenv("OS_ENDPOINT", "http://127.0.0.1:9696")
	for _, name := range []string{ProviderRecord, ProviderNeutron} {
		c := choice{name: name, plane: "plane", folder: t.TempDir()}
		if p, _, err := c.provider(t.Context()); err != nil || p.Name() != name {
			t.Errorf("provider %s: got %v, %v", name, p, err)
		}
	}
	selected := choice{name: ProviderBridge, plane: "plane", bridgeError: notRoot}
	if p, _, err := selected.provider(t.Context()); err == nil || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("bridge without permission: got %v, %v", p, err)
	}
	selected = choice{name: "vlan", plane: "plane"}
	if _, _, err := selected.provider(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "auto, bridge, record or neutron") {
		t.Errorf("an unknown provider: got error %v", err)
	}
	for _, name := range []string{ProviderRecord, ProviderNeutron} {
		if _, _, err := (choice{name: name, plane: "no plane"}).provider(t.Context()); err == nil {
			t.Errorf("%s: a plane ID with a space was accepted", name)
		}
	}
}

// keystone starts an identity service that answers every request with one status, and points the environment
// at it.
func keystone(t *testing.T, answer int) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(answer)
	}))
	t.Cleanup(server.Close)
	for variable, value := range map[string]string{
		"OS_AUTH_TYPE": "", "OS_CLOUD": "", "OS_AUTH_URL": server.URL + "/v3", "OS_USERNAME": "u",
		"OS_PASSWORD":   "wrong",
		"OS_PROJECT_ID": "p", "OS_DOMAIN_NAME": "Default",
	} {
		t.Setenv(variable, value)
	}
}

func TestWrongCredentialsAreAnError(t *testing.T) {
	keystone(t, http.StatusUnauthorized)
	c := choice{name: ProviderNeutron, plane: "plane", log: slog.New(slog.DiscardHandler)}
	_, _, err := c.provider(t.Context())
	if err == nil || !strings.Contains(err.Error(), "rejects the credentials") ||
		!strings.Contains(err.Error(), "OS_PASSWORD") {
		t.Errorf("got %v", err)
	}
}
