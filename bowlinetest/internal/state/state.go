// Package state reads the state of a plane and compares the states of two runs, without what differs in every
// run, such as UIDs, times and generated names. Package bowlinetest uses it for Explore.
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

	"github.com/bowline-dev/bowline/internal/object"
)

// Object is an object of any kind.
type Object = *unstructured.Unstructured

// State is the state of a plane at one point of a run.
type State struct {
	// Objects are all objects except Events, Leases and the IPAddresses of services, sorted by name. They include the
	// objects that every plane has.
	Objects []Object
	// External is the result of the scenario's ExternalState. In an invariant, Objects are those of one commit,
	// whereas External is read when the invariant is checked, at the same instant of virtual time or later.
	External any
}

// Kind returns the objects of a kind.
func (s State) Kind(kind string) []Object {
	var found []Object
	for _, o := range s.Objects {
		if o.GetKind() == kind {
			found = append(found, o)
		}
	}
	return found
}

// Find returns an object, or nil. The namespace of a cluster-scoped object is empty.
func (s State) Find(kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range s.Kind(kind) {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}

// Server lists objects over a transport.
type Server struct {
	http.RoundTripper
}

// List returns all objects of a resource at a revision, or the current ones if at is 0.
func (s Server) List(ctx context.Context, resource schema.GroupVersionResource, at object.Revision) ([]Object, error) {
	objects, err := s.list(ctx, resource, at)
	if at == 0 || err != errFuture {
		return objects, err
	}
	if _, err := s.list(ctx, resource, 0); err != nil { // a list of the current state waits for all commits
		return nil, err
	}
	return s.list(ctx, resource, at)
}

// errFuture reports that a revision is committed but not visible to reads yet.
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
	case http.StatusNotFound: // no longer served
		return nil, nil
	case http.StatusGatewayTimeout:
		return nil, errFuture
	default:
		return nil, fmt.Errorf("listing %s: %s: %s", resource, answer.Status, body)
	}
}

// decode reads a list. In lists of typed resources, only the list states the kind.
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
			return nil, fmt.Errorf("item %d of the list is not an object", i)
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

// Resources maps resources to their objects, which together make up a State.
type Resources map[schema.GroupVersionResource][]Object

// State returns the state of all resources.
func (r Resources) State(external any) State {
	s := State{External: external}
	for _, objects := range r {
		s.Objects = append(s.Objects, objects...)
	}
	slices.SortFunc(s.Objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(name(a), name(b)) })
	return s
}

// name returns an object's name in reports, Kind.group namespace/name, without the parts that are empty.
func name(o *unstructured.Unstructured) string {
	called := o.GroupVersionKind().GroupKind().String() + " "
	if o.GetNamespace() != "" {
		called += o.GetNamespace() + "/"
	}
	return called + o.GetName()
}
