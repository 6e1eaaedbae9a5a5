package neutron

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// A proxy in front of an unavailable Neutron may return any response. None of them counts as an empty list,
// which would permit the deletion of an object while its network still exists.
func TestInvalidListIsAnError(t *testing.T) {
	t.Parallel()
	for _, answer := range []struct {
		status int
		body   string
		reason provider.Reason
	}{
		{http.StatusOK, ``, provider.Unreachable},
		{http.StatusOK, `<html>Maintenance</html>`, provider.NotConfigured},
		{http.StatusOK, `null`, provider.NotConfigured},
		{http.StatusOK, `7`, provider.NotConfigured},
		{http.StatusOK, `{}`, provider.NotConfigured},
		{http.StatusOK, `{"networks":null,"subnets":null}`, provider.NotConfigured},
		{http.StatusOK, `{"networks":{},"subnets":{}}`, provider.NotConfigured},
		{http.StatusOK, `{"networks":[7],"subnets":[7]}`, provider.NotConfigured},
		{http.StatusOK, `{"networks":[],"networks_links":7}`, provider.NotConfigured},
		{http.StatusNoContent, ``, provider.NotConfigured},
		{http.StatusFound, ``, provider.NotConfigured},
		{http.StatusTeapot, `<html>I am a teapot</html>`, provider.NotConfigured},
	} {
		t.Run(fmt.Sprint(answer.status, answer.body), func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, func(q *http.Request) (*http.Response, error) {
				return response(q, answer.status, answer.body), nil
			})
			_, listed := p.List(t.Context())
			_, got := p.Get(t.Context(), "uid")
			for what, err := range map[string]error{"list": listed, "get": got,
				"delete": p.Delete(t.Context(), "uid")} {
				if reason, message := reasonOf(t, err); reason != answer.reason {
					t.Errorf("%s: got %s, %s; want %s", what, reason, message, answer.reason)
				}
			}
		})
	}
}

// A Neutron may limit the number of objects in a page (pagination_max_limit).
func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	for n := range 5 {
		apply(t, p, wanted(types.UID(fmt.Sprint("uid-", n)), "10.1.0.0/16", "10.1.0.1"))
	}
	r.disturb(func(q *http.Request) (*http.Response, error) {
		if query := q.URL.Query(); q.Method == http.MethodGet {
			query.Set("limit", "2")
			q.URL.RawQuery = query.Encode()
		}
		return nil, nil
	})
	r.took()
	uids, err := p.List(t.Context())
	slices.Sort(uids)
	if took := len(r.took()); err != nil ||
		!slices.Equal(uids, []types.UID{"uid-0", "uid-1", "uid-2", "uid-3", "uid-4"}) || took != 3 {
		t.Errorf("List returned %q, %v with %d requests", uids, err, took)
	}
}

// Links to the next page do not lead to another host, and links that form a loop end in an error.
func TestLinksAreNotTrusted(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"http://other.example:9696/v2.0/networks?marker=a", "//other.example?x", "/networks",
		"http://neutron.example:9696/v2.0/networks?marker=a"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, func(q *http.Request) (*http.Response, error) {
				if q.URL.Host != "neutron.example:9696" || q.URL.Scheme != "http" {
					t.Errorf("a request was sent to %s", q.URL)
				}
				collection := path.Base(q.URL.Path)
				return response(q, http.StatusOK, fmt.Sprintf(`{%q:[],"%s_links":[{"rel":"next","href":%q}]}`, collection,
					collection, link)), nil
			})
			_, err := p.List(t.Context())
			if reason, message := reasonOf(t, err); reason != provider.NotConfigured {
				t.Errorf("got %s, %s; want %s", reason, message, provider.NotConfigured)
			}
		})
	}
}

// A list with many filter values is split into several requests, since servers limit the length of a URL.
func TestLongListsAreSplit(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t).(*networks)
	r.disturb(func(q *http.Request) (*http.Response, error) {
		if length := len(q.URL.RequestURI()); length > 8<<10 {
			t.Errorf("a URL has %d bytes", length)
		}
		return nil, nil
	})
	last := types.UID("11111111-2222-3333-4444-555555555120")
	apply(t, p, wanted(last, "10.1.0.0/16", "10.1.0.1"))
	var uids []types.UID
	for n := range 121 {
		uids = append(uids, types.UID(fmt.Sprintf("11111111-2222-3333-4444-555555555%03d", n)))
	}
	r.took()
	answers := p.readMany(t.Context(), uids)
	if took := r.took(); len(answers) != len(uids) || len(answers[last].value.networks) != 1 || len(took) != 6 {
		t.Errorf("there are %d answers, and of the last one %+v, with the requests %q", len(answers), answers[last],
			took)
	}
}
