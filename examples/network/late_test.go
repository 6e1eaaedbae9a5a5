package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// outage starts an OpenStack whose Keystone answers 503 while away is set. Its Neutron has no networks.
func outage(t *testing.T) (away *atomic.Bool, logins func() int) {
	t.Helper()
	api := http.NewServeMux()
	api.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		fmt.Fprintf(w,
			`{"versions": [{"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": "http://%s/v2.0/"}]}]}`, q.Host)
	})
	api.HandleFunc("/v2.0/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"networks": [], "subnets": []}`)
	})
	empty := httptest.NewServer(api)
	t.Cleanup(empty.Close)
	identity, err := neutrontest.NewKeystone(empty.URL, "wrong")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(identity.Close)
	target, err := url.Parse(strings.TrimSuffix(identity.URL, "/v3"))
	if err != nil {
		t.Fatal(err)
	}
	inside := httputil.NewSingleHostReverseProxy(target)
	away = new(atomic.Bool)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		inside.ServeHTTP(w, q)
	}))
	t.Cleanup(door.Close)
	keystone(t, http.StatusTeapot)
	t.Setenv("OS_AUTH_URL", door.URL+"/v3")
	return away, identity.Logins
}

func TestLoginIsRetriedWhenOpenStackAnswers(t *testing.T) {
	away, logins := outage(t)
	away.Store(true)
	c := choice{name: ProviderNeutron, plane: "plane", log: slog.New(slog.DiscardHandler)}
	p, _, err := c.provider(t.Context())
	if err != nil || p.Name() != ProviderNeutron || p.ID("u") == "" {
		t.Fatalf("got %v, %v; want a provider although Keystone is away", p, err)
	}
	defer p.(*lateProvider).Close()
	var problem *provider.Problem
	for what, err := range map[string]error{
		"Get":    second(p.Get(t.Context(), "u")),
		"List":   second(p.List(t.Context())),
		"Apply":  p.Apply(t.Context(), provider.Network{UID: "u"}),
		"Delete": p.Delete(t.Context(), "u"),
		"Watch":  p.Watch(t.Context(), func(types.UID) {}),
	} {
		if !errors.As(err, &problem) || problem.Reason != provider.Unreachable ||
			!strings.Contains(problem.Message, "Keystone at http") {
			t.Errorf("%s: got %v; want a Problem that names Keystone", what, err)
		}
	}
	away.Store(false)
	p.(*lateProvider).retryAt = time.Now() // expire the cached error
	for range 3 {
		if _, err := p.Get(t.Context(), "u"); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("when Keystone is back: got %v; want ErrNotFound", err)
		}
	}
	if logins() != 1 {
		t.Errorf("logged in %d times", logins())
	}
}

func second[T any](_ T, err error) error { return err }

func TestFailedLoginIsCached(t *testing.T) {
	logins := 0
	l := &lateProvider{login: func(context.Context) (provider.Provider, error) {
		logins++
		return nil, errors.New("away")
	}}
	for range 100 {
		l.List(t.Context())
	}
	if logins != 1 {
		t.Errorf("100 calls logged in %d times, want once", logins)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	l.retryAt = time.Time{}
	l.loginErr = nil
	l.List(canceled)
	if l.List(t.Context()); logins != 3 {
		t.Errorf("got %d requests: a canceled call must not fail the next caller", logins)
	}
}
