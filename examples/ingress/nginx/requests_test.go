package nginx

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// get returns nginx's response: the body, or the status code if it is not 200.
func (l *lab) get(host, path string) string {
	l.Helper()
	return fetch(l, &http.Transport{DisableKeepAlives: true}, "http://"+l.http, host, path)
}

// getTLS is like get over HTTPS with SNI. It also returns the serial number of the certificate.
func (l *lab) getTLS(a authority, host, path string) (answer string, serial int64) {
	l.Helper()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: a.pool(), ServerName: host, VerifyConnection: func(s tls.ConnectionState) error {
			serial = s.PeerCertificates[0].SerialNumber.Int64()
			return nil
		},
	}}
	return fetch(l, transport, "https://"+l.https, host, path), serial
}

func fetch(t testing.TB, transport http.RoundTripper, url, host, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err.Error()
	case response.StatusCode != http.StatusOK:
		return fmt.Sprint(response.StatusCode)
	}
	return string(body)
}

// serves waits until a path has this response.
func (l *lab) serves(host, path, want string) {
	l.Helper()
	l.until(host+path+" answers "+want, func() bool { return l.get(host, path) == want })
}
