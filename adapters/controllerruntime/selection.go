package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
)

// controller-runtime passes functions that list and watch to the constructor of an informer, but not the resource,
// namespace and selectors that these functions use. This file calls the list function with a client that sends
// nothing and records the request.

// selection identifies the objects of an informer.
type selection struct {
	resource  schema.GroupVersionResource
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

// recording holds the URL of a request that is recorded instead of sent.
type recording struct{ url *url.URL }

type recordingKey struct{}

var errRecorded = errors.New("the request was only recorded")

// withRecorder returns a copy of an HTTP client whose transport is a recorder.
func withRecorder(c *http.Client) *http.Client {
	own := *c
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	own.Transport = recorder{next}
	return &own
}

// recorder records a request whose context has a recording, and sends all others.
type recorder struct{ next http.RoundTripper }

func (r recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	if to, ok := q.Context().Value(recordingKey{}).(*recording); ok {
		to.url = q.URL
		return nil, errRecorded
	}
	return r.next.RoundTrip(q)
}

// selectionOf returns the selection of a lister. It does not send a request.
func selectionOf(lw toolscache.ListerWatcher) (selection, error) {
	to := &recording{}
	ctx := context.WithValue(context.Background(), recordingKey{}, to)
	_, err := toolscache.ToListerWatcherWithContext(lw).ListWithContext(ctx, metav1.ListOptions{})
	if to.url == nil {
		return selection{}, fmt.Errorf("cannot determine the list request of the cache: %w", err)
	}
	return parse(to.url)
}

// parse parses the URL of a list.
func parse(u *url.URL) (s selection, err error) {
	query := u.Query()
	if s.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return s, fmt.Errorf("%s: %w", u, err)
	}
	if s.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return s, fmt.Errorf("%s: %w", u, err)
	}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	end := len(path)
	for _, resourceAt := range []int{end - 3, end - 1} { // after a namespace, or not
		if gv, ok := groupVersion(path, resourceAt); ok {
			s.resource = gv.WithResource(path[end-1])
			if resourceAt == end-3 {
				s.namespace = path[end-2]
			}
			return s, nil
		}
	}
	return s, fmt.Errorf("%s is not the URL of a list", u)
}

// groupVersion returns the group and version before path[at], as api/VERSION or apis/GROUP/VERSION. Unless it is the
// last element, path[at] must be "namespaces".
func groupVersion(path []string, at int) (schema.GroupVersion, bool) {
	if at < len(path)-1 && (at < 0 || path[at] != "namespaces") {
		return schema.GroupVersion{}, false
	}
	switch {
	case at >= 3 && path[at-3] == "apis":
		return schema.GroupVersion{Group: path[at-2], Version: path[at-1]}, true
	case at >= 2 && path[at-2] == "api":
		return schema.GroupVersion{Version: path[at-1]}, true
	}
	return schema.GroupVersion{}, false
}
