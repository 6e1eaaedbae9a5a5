package bowlinetest

import (
	"net/http"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// SocketConfig returns the configuration of a client-go client over the socket of the option Socket. Clients have a
// client certificate of the administrator or, if user is given, of the user user[0], a member of the groups user[1:].
// Their idle connections are closed when the test ends. Without the option Socket, SocketConfig ends the test.
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
