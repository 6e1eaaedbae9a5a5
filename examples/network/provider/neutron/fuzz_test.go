package neutron

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// fixedAnswer is an http.RoundTripper that answers every request with a status and a body.
type fixedAnswer struct {
	status int
	body   string
}

func (a fixedAnswer) RoundTrip(q *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Request: q,
		Header: http.Header{"Content-Type": {"application/json"}}}, nil
}

// FuzzAnswer lets Neutron answer any body. It is a page with items, or an error that becomes a Problem with a reason
// and a message; never an empty page, after which existing networks would appear to be gone.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"networks":[{"id":"a","subnets":["b"],"revision_number":1}],"networks_links":[{"rel":"next","href":"http://n/2"}]}`,
		`{"networks":[]}`, `{"networks":null}`, `{"networks_links":[]}`, `{}`, `[]`, ``, `<html>`, `{"networks":[null]}`,
		`{"NeutronError":{"type":"OverQuota","message":"no. "}}`, `{"NeutronError":"x"}`,
	} {
		f.Add(true, body)
		f.Add(false, body)
	}
	f.Fuzz(func(t *testing.T, fine bool, body string) {
		status := http.StatusConflict
		if fine {
			status = http.StatusOK
		}
		client := &gophercloud.ServiceClient{Endpoint: "http://neutron/", ProviderClient: &gophercloud.ProviderClient{
			HTTPClient: http.Client{Transport: fixedAnswer{status, body}}}}
		a := &api{client: client, timeout: time.Minute}
		found, _, err := page[network](t.Context(), a, "networks", "http://neutron/networks")
		if err == nil && (!fine || found == nil || !strings.Contains(body, "[")) {
			t.Errorf("%d %q: got %+v", status, body, found)
		}
		if err == nil {
			return
		}
		var problem *provider.Problem
		if !errors.As(a.explain(err, "id"), &problem) || problem.Reason == "" || problem.Message == "" {
			t.Errorf("%d %q: got the problem %+v of %v", status, body, problem, err)
		}
	})
}
