package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/streaming/pkg/httpstream"
)

// join forwards an upgrade without understanding its protocol: it joins the two connections.
func (c *Connector) join(w http.ResponseWriter, r *http.Request, to *target) error {
	return to.up.Join(w, Outgoing(r, &to.url), c.o.Timeout)
}

// Join sends a request that asks for another protocol, and joins the connection of its answer with that of w, until one
// of them or the context of the request ends. The other machine has the given time to answer. If Join returns an error,
// nothing was answered.
func (u *Upstream) Join(w http.ResponseWriter, out *http.Request, within time.Duration) error {
	answer, back, err := u.upgrade(out, within)
	if err != nil {
		return err
	}
	defer back.Close()
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return refused(w, answer)
	}
	client, ahead, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer client.Close()
	head := &strings.Builder{}
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	answer.Header.Write(head)
	head.WriteString("\r\n")
	client.SetWriteDeadline(time.Now().Add(handshakeTimeout))
	if _, err := io.WriteString(client, head.String()); err == nil {
		client.SetWriteDeadline(time.Time{})
		copyBoth(out.Context(), &buffered{client, ahead}, back)
	}
	return nil
}

// Outgoing returns the request to send in place of r, with its headers: that of a proxy for an upgrade.
func Outgoing(r *http.Request, to *url.URL) *http.Request {
	out := r.Clone(r.Context())
	target := *to
	out.URL, out.RequestURI, out.Body, out.ContentLength, out.TransferEncoding = &target, "", nil, 0, nil
	RemoveCredentials(out.Header)
	utilnet.AppendForwardedForHeader(out)
	return out
}

// RemoveCredentials removes the headers that tell who the client is: they are for this server only. A front proxy sends
// X-Remote-User and so on; another machine could take those of a client for ours.
func RemoveCredentials(h http.Header) {
	for name := range h {
		if name == "Authorization" || strings.HasPrefix(name, "X-Remote-") {
			delete(h, name)
		}
	}
}

// refused forwards an answer that is no upgrade. It has begun when refused returns nil.
func refused(w http.ResponseWriter, answer *http.Response) error {
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusBadRequest {
		return fmt.Errorf("invalid upgrade response: status code %d", answer.StatusCode)
	}
	for _, name := range []string{"Content-Type", "Retry-After", httpstream.HeaderAcceptedProtocolVersions} {
		if values := answer.Header[http.CanonicalHeaderKey(name)]; len(values) > 0 {
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	io.Copy(w, io.LimitReader(answer.Body, maxHead))
	return nil
}

// copyBoth copies between two connections until one of them ends or ctx does. Then it closes both, as Kubernetes does:
// the protocols of streams close each stream within the connection.
func copyBoth(ctx context.Context, a, b net.Conn) {
	done := make(chan struct{}, 2)
	transfer := func(to, from net.Conn) {
		io.Copy(onlyWriter{to}, onlyReader{from})
		done <- struct{}{}
	}
	go transfer(a, b)
	go transfer(b, a)
	running := 2
	select {
	case <-done:
		running--
	case <-ctx.Done():
	}
	a.Close()
	b.Close()
	for range running {
		<-done
	}
}

// onlyWriter and onlyReader hide the other methods of a connection, so that io.Copy uses its buffer of 32 KiB.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// errNoProtocol means that a kubelet did not choose a protocol that was offered.
var errNoProtocol = errors.New("the kubelet chose none of the offered protocols")

// dialSPDY asks a kubelet for a connection of SPDY streams, with one of the protocols. If there is no connection and no
// error, the answer of the kubelet was forwarded.
func (c *Connector) dialSPDY(w http.ResponseWriter, r *http.Request, to *target, protocols ...string) (
	conn net.Conn, protocol string, err error) {
	out := Outgoing(r, &to.url)
	out.Method = http.MethodPost
	for name := range out.Header {
		if strings.HasPrefix(name, "Sec-Websocket-") {
			delete(out.Header, name)
		}
	}
	out.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	out.Header.Set(httpstream.HeaderUpgrade, "SPDY/3.1")
	out.Header[http.CanonicalHeaderKey(httpstream.HeaderProtocolVersion)] = protocols
	answer, conn, err := to.up.upgrade(out, c.o.Timeout)
	if err != nil {
		return nil, "", err
	}
	switch protocol = answer.Header.Get(httpstream.HeaderProtocolVersion); {
	case answer.StatusCode != http.StatusSwitchingProtocols:
		err = refused(w, answer)
	case !strings.EqualFold(answer.Header.Get(httpstream.HeaderUpgrade), "SPDY/3.1"):
		err = errors.New("unable to upgrade: missing upgrade headers in response")
	default:
		return conn, protocol, nil
	}
	conn.Close()
	return nil, "", err
}
