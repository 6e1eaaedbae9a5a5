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

// ServerError reports that a server cannot be used, with advice on what to do. It replaces less specific errors of Go's
// net/http and of client-go. Clients that New returned, or that were made from a config that Load returned, return it
// from any request; test for it with errors.As.
type ServerError struct {
	Server string // scheme, host and port
	Advice string // the problem and what to do
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

// Ping requests the server's version and returns it, such as v1.37.2. It returns an error if the server does not
// answer, is not a Kubernetes API server, or rejects the client's credentials.
func (c *Client) Ping(ctx context.Context) (string, error) {
	body, err := do(ctx, c.rest.Get().AbsPath("/version"))
	if err != nil {
		return "", err
	}
	var found version.Info
	if err := json.Unmarshal(body, &found); err != nil || found.GitVersion == "" {
		url := c.rest.Get().AbsPath("/").URL()
		return "", &ServerError{Server: url.Scheme + "://" + url.Host,
			Advice: "it is not a Kubernetes API server: its /version has no gitVersion; check the server's URL"}
	}
	return found.GitVersion, nil
}

// explain wraps the transport of a config so that it returns *ServerError where the cause of a failure is
// known.
func explain(config *rest.Config) {
	pair := config.TLSClientConfig
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &explainingTransport{next: next, pair: pair} })
}

// explainingTransport turns connection failures into ServerErrors.
type explainingTransport struct {
	next http.RoundTripper
	pair rest.TLSClientConfig // the client certificate
}

// WrappedRoundTripper lets client-go reach the transport below, to close its idle connections.
func (e *explainingTransport) WrappedRoundTripper() http.RoundTripper { return e.next }

func (e *explainingTransport) RoundTrip(q *http.Request) (*http.Response, error) {
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
		advice = "it does not speak TLS: use a URL that begins with http://, or the port of the API server"
	case errors.As(err, &unknown):
		advice = "its certificate is signed by an authority that is not trusted here: certificate-authority is outdated or of another server"
	case errors.As(err, &host):
		advice = "its certificate is for another name: use a name of the certificate in the server's URL, or as tls-server-name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		advice = "its certificate has expired, or this machine's clock is wrong: renew the certificate"
	case errors.As(err, &alert):
		advice = "it rejects the client certificate: client-certificate has expired or is of another server"
	case utilnet.IsConnectionRefused(err):
		advice = "nothing listens there: start the server, or check host and port of its URL"
	case errors.As(err, &dns):
		advice = "the host name cannot be resolved: check the server's URL"
	default:
		return err
	}
	return &ServerError{Server: server, Advice: advice, Err: err}
}

// explainAnswer returns a ServerError for a response that no Kubernetes API server sends, and for a 401 if the client
// certificate has expired.
func (e *explainingTransport) explainAnswer(server string, q *http.Request, answer *http.Response) error {
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized:
		return e.explainUnauthorized(server)
	case code == http.StatusBadRequest && media != "application/json" && q.URL.Scheme == "http":
		start, _ := io.ReadAll(io.LimitReader(answer.Body, 512))
		if strings.Contains(string(start), "HTTP request to an HTTPS server") {
			return &ServerError{Server: server, Advice: "it speaks TLS: use a URL that begins with https://"}
		}
		answer.Body = &readBody{io.MultiReader(strings.NewReader(string(start)), answer.Body), answer.Body}
	case media == "text/html" && (code < 300 || code == http.StatusForbidden || code == http.StatusNotFound):
		advice := fmt.Sprintf("it answers %s with an HTML page, such as a login page: it is not a Kubernetes API server; "+
			"check the server's URL", q.URL.Path)
		return &ServerError{Server: server, Advice: advice, Err: statusOf(code)}
	}
	return nil
}

func (e *explainingTransport) explainUnauthorized(server string) error {
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
