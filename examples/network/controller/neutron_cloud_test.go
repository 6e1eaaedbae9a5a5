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

// cloud is a Neutron with a project of its own, and how it fails.
type cloud struct {
	url, project string
	// transport is the way there.
	transport http.RoundTripper
	fails     failure
	// poll is how often the controller looks.
	poll time.Duration
}

// fakeCloud is a new one in memory.
func fakeCloud(fails failure) *cloud {
	return &cloud{
		url: "http://neutron.fake", project: "project", transport: neutrontest.InProcess(&neutrontest.Fake{}),
		fails: fails, poll: time.Minute,
	}
}

// client is a client of the project, on a way to it.
func (c *cloud) client(transport http.RoundTripper) *gophercloud.ServiceClient {
	return neutrontest.NewClient(c.url, c.project, neutrontest.Member, transport)
}

// failure answers a request that Explore has refused, in Neutron's place. do has Neutron do it all the same.
type failure func(q *http.Request, do func() (*http.Response, error)) (*http.Response, error)

// disturbed is the way to a cloud, on which each request is a point of Explore's.
type disturbed struct {
	ctx context.Context // the process's
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
	case done || d.ctx.Err() != nil: // the answer is lost, or the process has crashed
		return nil, err
	}
	return d.fails(q, func() (*http.Response, error) { return d.transport.RoundTrip(q.WithContext(context.Background())) })
}

// point names a request by what it is about: what it asks for, or the names and descriptions of what it makes.
func point(q *http.Request) (name string, again *http.Request, err error) {
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
	again = q.Clone(q.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return name + " " + about(body), again, nil
}

// about is what a body names: of networks the name, of subnets the description.
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

// status answers with a status.
func status(code int) failure {
	return func(q *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		body := `{"NeutronError": {"type": "Disturbed", "message": "The test says so.", "detail": ""}}`
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: q,
		}, nil
	}
}

// never answers when the client has lost its patience.
func never(q *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	<-q.Context().Done()
	return nil, q.Context().Err()
}

// doneAndNever does so too, though Neutron has done what it was asked for.
func doneAndNever(q *http.Request, do func() (*http.Response, error)) (*http.Response, error) {
	if response, err := do(); err == nil {
		response.Body.Close()
	}
	return never(q, do)
}

// late does so too; and when the client has long been trying again, the request arrives.
func late(q *http.Request, do func() (*http.Response, error)) (*http.Response, error) {
	<-q.Context().Done()
	time.AfterFunc(20*time.Second, func() {
		if response, err := do(); err == nil {
			response.Body.Close()
		}
	})
	return nil, q.Context().Err()
}
