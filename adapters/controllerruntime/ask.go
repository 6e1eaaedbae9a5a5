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

// controller-runtime passes an informer's constructor functions that list and watch, but not the resource,
// namespace and selectors that these functions use. This file calls the functions with a client that sends
// nothing and records the request.

// wanted is what an informer is to hold.
type wanted struct {
	resource  schema.GroupVersionResource
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

// question is where the URL of a request is noted that is not to be sent.
type question struct{ answer *url.URL }

type questionKey struct{}

var errAsked = errors.New("the request was only recorded")

// askable is an HTTP client that answers questions, and sends all else.
func askable(c *http.Client) *http.Client {
	own := *c
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	own.Transport = asked{next}
	return &own
}

type asked struct{ next http.RoundTripper }

func (a asked) RoundTrip(q *http.Request) (*http.Response, error) {
	if question, ok := q.Context().Value(questionKey{}).(*question); ok {
		question.answer = q.URL
		return nil, errAsked
	}
	return a.next.RoundTrip(q)
}

// ask finds out what a lister lists.
func ask(lw toolscache.ListerWatcher) (wanted, error) {
	q := &question{}
	ctx := context.WithValue(context.Background(), questionKey{}, q)
	_, err := toolscache.ToListerWatcherWithContext(lw).ListWithContext(ctx, metav1.ListOptions{})
	if q.answer == nil {
		return wanted{}, fmt.Errorf("cannot determine the list request of the cache: %w", err)
	}
	return read(q.answer)
}

// read understands the URL of a list.
func read(u *url.URL) (w wanted, err error) {
	query := u.Query()
	if w.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return w, fmt.Errorf("%s: %w", u, err)
	}
	if w.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return w, fmt.Errorf("%s: %w", u, err)
	}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	end := len(path)
	for _, resourceAt := range []int{end - 3, end - 1} { // after a namespace, or not
		if gv, ok := groupVersion(path, resourceAt); ok {
			w.resource = gv.WithResource(path[end-1])
			if resourceAt == end-3 {
				w.namespace = path[end-2]
			}
			return w, nil
		}
	}
	return w, fmt.Errorf("%s is not the URL of a list", u)
}

// groupVersion is what stands before a place in the path of a list: api/VERSION, or apis/GROUP/VERSION. A place that is
// not the last must be that of namespaces.
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
