// Package component computes the component statuses of the API (v1 ComponentStatus): whether the server's parts, which
// are processes of their own in Kubernetes, are healthy. They are computed for each read and never stored.
package component

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// Resource is the resource of component statuses.
var Resource = schema.GroupResource{Resource: "componentstatuses"}

// A Check tells whether a component is healthy.
type Check struct {
	// Name is Kubernetes' name of the component: scheduler, controller-manager or etcd-0.
	Name string
	// Check returns nil for a healthy component. It is quick, does not block and is called concurrently.
	Check func(context.Context) error
}

// Statuses computes component statuses. Its methods may be called concurrently.
type Statuses struct {
	kinds  *kind.Registry
	checks []Check
}

// New returns the statuses of some components.
func New(kinds *kind.Registry, checks ...Check) *Statuses {
	checks = slices.SortedFunc(slices.Values(checks), func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	return &Statuses{kinds: kinds, checks: checks}
}

// Objects runs the checks and returns the statuses, in the order of their names.
func (s *Statuses) Objects(ctx context.Context) ([]*object.Object, error) {
	k, served := s.kinds.Stored(Resource)
	if !served {
		return nil, nil
	}
	var objects []*object.Object
	for _, c := range s.checks {
		healthy := corev1.ComponentCondition{
			Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: "ok",
		}
		if err := c.Check(ctx); err != nil {
			healthy.Status, healthy.Message, healthy.Error = corev1.ConditionFalse, "", err.Error()
		}
		o, err := stored.Encode(k, &corev1.ComponentStatus{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ComponentStatus"},
			ObjectMeta: metav1.ObjectMeta{Name: c.Name},
			Conditions: []corev1.ComponentCondition{healthy},
		}, object.Form{APIVersion: "v1"})
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}
