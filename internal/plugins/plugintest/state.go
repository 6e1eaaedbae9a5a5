// Package plugintest has what the tests of admission plugins share.
package plugintest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// State is a Reader of a fixed set of objects.
type State map[schema.GroupResource][]kind.Object

var _ admission.Follower = State{}

// Get implements admission.Reader.
func (s State) Get(_ context.Context, gr schema.GroupResource, namespace, name string) (kind.Object, error) {
	for _, o := range s[gr] {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o, nil
		}
	}
	return nil, nil
}

// List implements admission.Reader.
func (s State) List(_ context.Context, gr schema.GroupResource, namespace string, yield func(kind.Object) bool) error {
	for _, o := range s[gr] {
		if (namespace == "" || o.GetNamespace() == namespace) && !yield(o) {
			break
		}
	}
	return nil
}

// Changes implements admission.Follower: nothing changes.
func (s State) Changes(schema.GroupResource) (<-chan struct{}, error) { return nil, nil }
