package bowlinetest

import (
	"net/http"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// SocketConfig returns a configuration for clients that connect to the socket of the option Socket with
// client certificates: as the administrator, or as the given user, whose groups follow its name. The
// connections are closed when the test ends. Without the option Socket it ends the test.
func (p *Plane) SocketConfig(t testing.TB, user ...string) *rest.Config {
	t.Helper()
	config, err := p.Plane.SocketConfig()
	if len(user) > 0 {
		config, err = p.IssueClient(user[0], user[1:]...)
	}
	if err != nil {
		t.Fatalf("%v; start the plane with bowlinetest.Socket()", err)
	}
	config.Wrap(p.watches.wrap)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(next) })
		return next
	})
	return config
}
