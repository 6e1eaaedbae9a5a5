package bowlinetest

import (
	"net/http"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// SocketConfig is for clients over the socket that the option Socket opens, with certificates: as the administrator, or as
// another user, in these groups. Connections are closed when the test ends.
func (p *Plane) SocketConfig(t testing.TB, user ...string) *rest.Config {
	t.Helper()
	config, err := p.TLSConfig()
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
