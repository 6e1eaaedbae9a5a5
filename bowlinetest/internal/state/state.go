// Package state is what a plane has, as two runs of the same thing can be compared: without what differs in every run, such
// as uids, times and made-up names. Package bowlinetest is its caller.
package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/object"
)

// Object is one of any kind.
type Object = *unstructured.Unstructured

// State is what there is at a moment.
type State struct {
	// Objects are all that there are, but for Events and Leases, in order. Those that every plane has are among them.
	Objects []Object
	// Outside is what the scenario's Snapshot says. An invariant sees the objects as one commit left them, and Outside as it is
	// when the invariant is looked at, in the same instant or moments later.
	Outside any
}

// Kind are the objects of a kind.
func (s State) Kind(kind string) []Object {
	var found []Object
	for _, o := range s.Objects {
		if o.GetKind() == kind {
			found = append(found, o)
		}
	}
	return found
}

// Find is an object, or nil. The namespace of a cluster-scoped one is empty.
func (s State) Find(kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range s.Kind(kind) {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}

// Server is asked for objects.
type Server struct {
	http.RoundTripper
}

// List reads all objects of a resource, as they were at a revision, or as they are for 0.
func (s Server) List(ctx context.Context, resource schema.GroupVersionResource, at object.Revision) ([]Object, error) {
	objects, err := s.list(ctx, resource, at)
	if at == 0 || err != errFuture {
		return objects, err
	}
	if _, err := s.list(ctx, resource, 0); err != nil { // which waits for all that was committed
		return nil, err
	}
	return s.list(ctx, resource, at)
}

// errFuture is that a revision is committed and not published yet.
var errFuture = errors.New("the revision is still to come")

func (s Server) list(ctx context.Context, resource schema.GroupVersionResource, at object.Revision) ([]Object, error) {
	path := "/apis/" + resource.Group + "/" + resource.Version
	if resource.Group == "" {
		path = "/api/" + resource.Version
	}
	url := "http://bowline.in-process" + path + "/" + resource.Resource + "?includeUninitialized=true"
	if at != 0 {
		url += "&resourceVersionMatch=Exact&resourceVersion=" + at.String()
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "application/json")
	answer, err := s.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return decode(body)
	case http.StatusNotFound: // it is served no longer
		return nil, nil
	case http.StatusGatewayTimeout:
		return nil, errFuture
	default:
		return nil, fmt.Errorf("listing %s: %s: %s", resource, answer.Status, body)
	}
}

// decode reads a list. Those of typed resources say only once of what kind their items are.
func decode(body []byte) ([]Object, error) {
	var list map[string]any
	if err := utiljson.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	items, _, err := unstructured.NestedSlice(list, "items")
	if err != nil {
		return nil, err
	}
	whole := unstructured.Unstructured{Object: list}
	objects := make([]Object, len(items))
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("item %d of the list is no object", i)
		}
		o := &unstructured.Unstructured{Object: fields}
		if o.GetKind() == "" {
			o.SetAPIVersion(whole.GetAPIVersion())
			o.SetKind(strings.TrimSuffix(whole.GetKind(), "List"))
		}
		objects[i] = o
	}
	return objects, nil
}

// Resources are objects by resource, which make a State together.
type Resources map[schema.GroupVersionResource][]Object

// State is all of them.
func (r Resources) State(outside any) State {
	s := State{Outside: outside}
	for _, objects := range r {
		s.Objects = append(s.Objects, objects...)
	}
	slices.SortFunc(s.Objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(name(a), name(b)) })
	return s
}

// name is what an object is called in a report: Kind.group namespace/name, without what it has not.
func name(o *unstructured.Unstructured) string {
	called := o.GroupVersionKind().GroupKind().String() + " "
	if o.GetNamespace() != "" {
		called += o.GetNamespace() + "/"
	}
	return called + o.GetName()
}
