package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/kubeconfig"
)

// ServerError reports that a server cannot be used, with advice on what to do. Clients made by New, or from a
// config that Load returned, return it where Go or client-go would return a less specific error.
type ServerError struct {
	Server string // scheme, host and port
	Advice string // what is wrong and what to do
	Err    error  // the underlying error; may be nil
}

// Error names the server, the advice and the underlying error.
func (e *ServerError) Error() string {
	text := e.Server + ": " + e.Advice
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

// Ping requests the server's version, such as v1.37.2. It fails if the server does not answer, is not a
// Kubernetes API, or does not accept the client's credentials.
func (c *Client) Ping(ctx context.Context) (string, error) {
	body, err := do(ctx, c.rest.Get().AbsPath("/version"))
	if err != nil {
		return "", err
	}
	var found version.Info
	if err := json.Unmarshal(body, &found); err != nil || found.GitVersion == "" {
		url := c.rest.Get().AbsPath("/").URL()
		return "", &ServerError{Server: url.Scheme + "://" + url.Host,
			Advice: "it is no Kubernetes API: what it calls its version is no such thing; " +
				"check the server's URL"}
	}
	return found.GitVersion, nil
}

// explain wraps the transport of a config so that it returns *ServerError where the cause of a failure is
// known.
func explain(config *rest.Config) {
	pair := config.TLSClientConfig
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &explaining{next: next, pair: pair} })
}

// explaining is a transport that turns connection failures into ServerErrors.
type explaining struct {
	next http.RoundTripper
	pair rest.TLSClientConfig // the client certificate
}

// WrappedRoundTripper lets client-go reach the transport below, to close its idle connections.
func (e *explaining) WrappedRoundTripper() http.RoundTripper { return e.next }

func (e *explaining) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := e.next.RoundTrip(q)
	server := q.URL.Scheme + "://" + q.URL.Host
	if err != nil {
		return nil, explainFailure(server, err)
	}
	if err := e.explainAnswer(server, q, answer); err != nil {
		answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

// explainFailure wraps a connection error in a ServerError if its cause is known.
func explainFailure(server string, err error) error {
	if known := new(ServerError); errors.As(err, &known) {
		return err
	}
	advice := ""
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	var dns *net.DNSError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record):
		advice = "it speaks no TLS, as a server of plain HTTP: its URL begins with http://, or this is another server's port"
	case errors.As(err, &unknown):
		advice = "its certificate is of an authority that is not trusted here: certificate-authority is another server's, or an old one"
	case errors.As(err, &host):
		advice = "its certificate is for another name: use a name that it has as the server's URL, or as tls-server-name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		advice = "its certificate has expired, or the clock here is wrong: renew it there"
	case errors.As(err, &alert):
		advice = "it refuses the client certificate: client-certificate is another server's, or has expired"
	case utilnet.IsConnectionRefused(err):
		advice = "nothing listens there: start the server, or check host and port of its URL"
	case errors.As(err, &dns):
		advice = "nobody knows this host: check the server's URL"
	default:
		return err
	}
	return &ServerError{Server: server, Advice: advice, Err: err}
}

// explainAnswer returns an error for a response that no Kubernetes API sends, and for a 401 when the client
// certificate has expired.
func (e *explaining) explainAnswer(server string, q *http.Request, answer *http.Response) error {
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized:
		return e.explainUnauthorized(server)
	case code == http.StatusBadRequest && media != "application/json" && q.URL.Scheme == "http":
		start, _ := io.ReadAll(io.LimitReader(answer.Body, 512))
		if strings.Contains(string(start), "HTTP request to an HTTPS server") {
			return &ServerError{Server: server, Advice: "it speaks TLS: its URL begins with https://"}
		}
		answer.Body = &readBody{io.MultiReader(strings.NewReader(string(start)), answer.Body), answer.Body}
	case media == "text/html" && (code < 300 || code == http.StatusForbidden || code == http.StatusNotFound):
		advice := fmt.Sprintf("it answers %s with a page of HTML, as a web server or a login page does: it is no Kubernetes API; "+
			"check the server's URL", q.URL.Path)
		return &ServerError{Server: server, Advice: advice, Err: statusOf(code)}
	}
	return nil
}

func (e *explaining) explainUnauthorized(server string) error {
	data := e.pair.CertData
	if len(data) == 0 && e.pair.CertFile != "" {
		data, _ = os.ReadFile(e.pair.CertFile)
	}
	if leaf, err := kubeconfig.ParseCertificate(data); err == nil && time.Now().After(leaf.NotAfter) {
		return &ServerError{Server: server, Advice: kubeconfig.Expired(leaf), Err: statusOf(http.StatusUnauthorized)}
	}
	return nil
}

// statusOf returns the error that client-go would return for a 401 or 403, so that callers can test its
// reason; nil for other codes.
func statusOf(code int) error {
	status := metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Message: http.StatusText(code)}
	switch code {
	case http.StatusUnauthorized:
		status.Reason = metav1.StatusReasonUnauthorized
	case http.StatusForbidden:
		status.Reason = metav1.StatusReasonForbidden
	default:
		return nil
	}
	return &apierrors.StatusError{ErrStatus: status}
}
