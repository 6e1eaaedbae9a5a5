package controller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// cloud is a project in a Neutron, and the way in which its requests fail.
type cloud struct {
	url, project string
	// transport carries requests to the Neutron.
	transport http.RoundTripper
	fails     failure
	// poll is the interval at which the provider lists networks.
	poll time.Duration
}

// fakeCloud returns a new cloud in memory.
func fakeCloud(fails failure) *cloud {
	return &cloud{
		url: "http://neutron.fake", project: "project", transport: neutrontest.InProcess(&neutrontest.Fake{}),
		fails: fails, poll: time.Minute,
	}
}

// client returns a client of the project that uses the given transport.
func (c *cloud) client(transport http.RoundTripper) *gophercloud.ServiceClient {
	return neutrontest.NewClient(c.url, c.project, neutrontest.Member, transport)
}

// failure answers a request that Explore refused. It may call do to have Neutron process the request
// nevertheless.
type failure func(q *http.Request, do func() (*http.Response, error)) (*http.Response, error)

// disturbed is a transport to a cloud that makes each request a fault point of Explore.
type disturbed struct {
	ctx context.Context // of the process
	*cloud
}

// RoundTrip implements http.RoundTripper.
func (d disturbed) RoundTrip(q *http.Request) (response *http.Response, err error) {
	name, q, err := point(q)
	if err != nil {
		return nil, err
	}
	done := false
	err = bowlinetest.Effect(d.ctx, name, func() error {
		done = true
		response, err = d.transport.RoundTrip(q)
		return err
	})
	switch {
	case err == nil:
		return response, nil
	case done || d.ctx.Err() != nil: // the response was lost, or the process has crashed
		return nil, err
	}
	return d.fails(q, func() (*http.Response, error) {
		return d.transport.RoundTrip(q.WithContext(context.Background()))
	})
}

// point names a request by method, collection, filters, and the names and descriptions in its body. It
// returns a copy of the request, since it has read the body.
func point(q *http.Request) (name string, clone *http.Request, err error) {
	collection, _, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v2.0/"), "/")
	name = q.Method + " " + collection
	query := q.URL.Query()
	query.Del("fields")
	for _, field := range slices.Sorted(maps.Keys(query)) {
		name += " of " + field + " " + strings.Join(slices.Sorted(slices.Values(query[field])), ",")
	}
	if q.Body == nil {
		return name, q, nil
	}
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return "", nil, err
	}
	clone = q.Clone(q.Context())
	clone.Body = io.NopCloser(bytes.NewReader(body))
	return name + " " + about(body), clone, nil
}

// about returns the names of networks and descriptions of subnets in a request body.
func about(body []byte) string {
	type named struct{ Name, Description string }
	var one struct {
		Network, Subnet named
		Networks        []named
	}
	if json.Unmarshal(body, &one) != nil {
		return ""
	}
	names := []string{one.Network.Name, one.Subnet.Description}
	for _, n := range one.Networks {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return strings.TrimSpace(strings.Join(names, " "))
}

// status returns a failure that answers with an HTTP status.
func status(code int) failure {
	return func(q *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		body := `{"NeutronError": {"type": "Disturbed", "message": "The test says so.", "detail": ""}}`
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
			Request: q,
		}, nil
	}
}

// never returns no response until the client gives up.
func never(q *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	<-q.Context().Done()
	return nil, q.Context().Err()
}

// doneAndNever is like never, but Neutron processes the request first.
func doneAndNever(q *http.Request, do func() (*http.Response, error)) (*http.Response, error) {
	if response, err := do(); err == nil {
		response.Body.Close()
	}
	return never(q, do)
}

// processedAfterTimeout is like never, but Neutron processes the request 20 s after the client has given up.
func processedAfterTimeout(q *http.Request, do func() (*http.Response, error)) (*http.Response, error) {
	<-q.Context().Done()
	time.AfterFunc(20*time.Second, func() {
		if response, err := do(); err == nil {
			response.Body.Close()
		}
	})
	return nil, q.Context().Err()
}
