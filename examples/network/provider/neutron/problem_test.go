package neutron

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
	"github.com/bowline-dev/bowline/examples/network/provider/providertest"
)

// transportFunc is a function that implements http.RoundTripper.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// newProvider returns a provider whose requests are answered by f.
func newProvider(t *testing.T, f transportFunc) provider.Provider {
	t.Helper()
	client := neutrontest.NewClient("http://neutron.example:9696", project, neutrontest.Member, f)
	p, err := New("plane", client, Options{Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	return p
}

// answering answers each write with a status and body, and each read with an empty list.
func answering(status int, body string) transportFunc {
	return func(q *http.Request) (*http.Response, error) {
		if q.Method == http.MethodGet {
			return nothing(q), nil
		}
		return response(q, status, body), nil
	}
}

// nothing returns an empty list.
func nothing(q *http.Request) *http.Response {
	return response(q, http.StatusOK, fmt.Sprintf(`{%q:[]}`, path.Base(q.URL.Path)))
}

func response(q *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"},
			"X-Openstack-Request-Id": {"req-" + time.Now().String()}},
		Body: io.NopCloser(strings.NewReader(body)), Request: q,
	}
}

func asNeutron(kind, message string) string {
	return fmt.Sprintf(`{"NeutronError": {"type": %q, "message": %q, "detail": ""}}`, kind, message)
}

// reasonOf returns the reason and message of a provider.Problem.
func reasonOf(t *testing.T, err error) (provider.Reason, string) {
	t.Helper()
	var problem *provider.Problem
	if !errors.As(err, &problem) {
		t.Fatalf("%v does not say what to do", err)
	}
	return problem.Reason, problem.Message
}

// Responses of a real Neutron 21, and the messages made of them.
func TestErrorMessages(t *testing.T) {
	t.Parallel()
	want := providertest.Wanted("uid", "10.0.0.0/8", "10.0.0.1")
	for name, c := range map[string]struct {
		status int
		body   string
		reason provider.Reason
		says   string
	}{
		"wrong credentials": {401, "<html><head><title>401 Unauthorized</title></head></html>", provider.Unauthorized,
			"http://neutron.example:9696/ rejects the credentials: check the cloud of OS_CLOUD, or OS_USERNAME"},
		"no permission": {403, asNeutron("PolicyNotAuthorized", "rule:create_network is disallowed by policy"),
			provider.Unauthorized,
			"request a role that has it (rule:create_network is disallowed by policy)"},
		"quota": {409, asNeutron("OverQuota", "Quota exceeded for resources: ['network']."), provider.QuotaExceeded,
			"the project's quota has no room for network bowline.plane.uid: remove something, or have the quota raised (Quota exceeded for resources: ['network'])"},
		"no network type": {503, asNeutron("NoNetworkAvailable",
			"Unable to create the network. No tenant network is available for allocation."),
			provider.NotConfigured, "its operator must configure tenant_network_types with free ranges"},
		"no network API": {404, "<html><head><title>404 Not Found</title></head></html>", provider.NotConfigured,
			"there is no network API at http://neutron.example:9696/: check the address, and that Neutron has a core plugin"},
		"refused": {400, asNeutron("InvalidInput",
			"Invalid input for operation: 10.10.0.0/33 is not in a CIDR format."), provider.Refused,
			"Neutron rejects network bowline.plane.uid: declare another one (Invalid input for operation: 10.10.0.0/33 is not in a CIDR format)"},
		"its own failure": {500, asNeutron("HTTPInternalServerError",
			"Request Failed: internal server error while processing your request."),
			provider.Failed, "Neutron failed (500, see its log), retrying"},
		"behind a proxy, gone": {502, "<html>Bad Gateway</html>", provider.Unreachable,
			"does not answer, retrying"},
		"overloaded": {503, "<html>Service Unavailable</html>", provider.Unreachable,
			"does not answer, retrying"},
		"too many": {429, "", provider.Unreachable, "does not answer, retrying"},
		"another server": {201, "<html>Welcome</html>", provider.NotConfigured,
			"the server at http://neutron.example:9696/ is not Neutron: check the address"},
		"another API": {201, `{"networks":7}`, provider.NotConfigured, "is not Neutron"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, answering(c.status, c.body))
			reason, message := reasonOf(t, p.Apply(t.Context(), want))
			if reason != c.reason || !strings.Contains(message, c.says) {
				t.Errorf("got %s: %s; want %s: %s", reason, message, c.reason, c.says)
			}
		})
	}
}

// Every kind of outage has the same message, so that a status is not rewritten repeatedly.
func TestOutageHasOneMessage(t *testing.T) {
	t.Parallel()
	want := providertest.Wanted("uid", "10.0.0.0/8", "10.0.0.1")
	messages := map[string]bool{}
	for n, failure := range []error{
		fmt.Errorf("read tcp 127.0.0.1:53422->127.0.0.1:9696: %w", syscall.ECONNRESET),
		fmt.Errorf("dial tcp 127.0.0.1:9696: %w", syscall.ECONNREFUSED),
		io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded,
	} {
		p := newProvider(t, func(q *http.Request) (*http.Response, error) {
			if n%2 == 0 && q.Method == http.MethodGet {
				return nothing(q), nil
			}
			return nil, failure
		})
		reason, message := reasonOf(t, p.Apply(t.Context(), want))
		if reason != provider.Unreachable {
			t.Errorf("error %v: got %s: %s", failure, reason, message)
		}
		messages[message] = true
		_, err := p.List(t.Context())
		if n%2 == 1 {
			_, message := reasonOf(t, err)
			messages[message] = true
		}
	}
	if len(messages) != 1 {
		t.Errorf("got %d different messages: %v", len(messages), messages)
	}
}

// A request that Neutron does not answer fails after the timeout; a caller whose context ends returns at
// once.
func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, func(q *http.Request) (*http.Response, error) {
			<-q.Context().Done()
			return nil, q.Context().Err()
		})
		began := time.Now()
		_, err := p.Get(t.Context(), "uid")
		if reason, _ := reasonOf(t, err); reason != provider.Unreachable || time.Since(began) != DefaultTimeout {
			t.Errorf("the request failed after %v with %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		if _, err := p.Get(ctx, "uid"); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("the request failed after %v with %v", time.Since(began), err)
		}
		must(t, p.(io.Closer).Close())
	})
}
