// Package component computes the component statuses of the API (v1 ComponentStatus): whether the server's parts, which
// are processes of their own in Kubernetes, are healthy. They are computed for each read and never stored.
package component

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// Resource is the resource of component statuses.
var Resource = schema.GroupResource{Resource: "componentstatuses"}

// Checks are the health checks of components, by Kubernetes' names of them: scheduler, controller-manager, etcd-0. A
// check returns nil for a healthy component. It is quick, does not block and is called concurrently.
type Checks map[string]func(context.Context) error

// Statuses returns a function that runs the checks and returns the statuses, in the order of their names.
func (c Checks) Statuses(kinds *kind.Registry) func(context.Context) ([]*object.Object, error) {
	return func(ctx context.Context) (objects []*object.Object, err error) {
		for _, name := range slices.Sorted(maps.Keys(c)) {
			o, err := status(kinds, name, c[name](ctx))
			if err != nil {
				return nil, err
			}
			objects = append(objects, o)
		}
		return objects, nil
	}
}

// status returns the status of one component, which a check has found unhealthy if failure is not nil.
func status(kinds *kind.Registry, name string, failure error) (*object.Object, error) {
	healthy := corev1.ComponentCondition{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: "ok"}
	if failure != nil {
		healthy.Status, healthy.Message, healthy.Error = corev1.ConditionFalse, "", failure.Error()
	}
	k, _ := kinds.Stored(Resource) // it is served: a client reads it
	return stored.Encode(k, &corev1.ComponentStatus{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ComponentStatus"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Conditions: []corev1.ComponentCondition{healthy},
	}, object.Form{APIVersion: "v1"})
}
