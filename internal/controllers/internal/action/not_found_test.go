package action_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/trial"
)

// Changing or deleting an object that does not exist succeeds. If its kind is not served, the object may
// exist, so the actions fail.
func TestUnservedKindIsNotNotFound(t *testing.T) {
	t.Parallel()
	var executor *action.Executor
	bowlinetest.Bubble(t, func(t *testing.T, _ *bowlinetest.Plane) {
		for version, want := range map[string]error{"v1": nil, "v0": action.ErrUnserved} {
			for _, namespace := range []string{"default", "a"} {
				for _, a := range actionsOnMissingPod(namespace,
					schema.GroupVersionResource{Version: version, Resource: "pods"}) {
					if _, err := executor.Do(t.Context(), a); !errors.Is(err, want) {
						t.Errorf("%s, version %s, namespace %s: got error %v, want %v", a, version, namespace, err,
							want)
					}
				}
			}
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		executor = action.NewExecutor(m, "test")
		return nil
	}))
}

// actionsOnMissingPod returns all kinds of actions on a pod "a" that does not exist.
func actionsOnMissingPod(namespace string, in schema.GroupVersionResource) []action.Action {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: namespace, UID: "u", ResourceVersion: "1"}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	return []action.Action{
		action.Patch[*corev1.Pod]{Resource: in, Object: pod, Type: types.MergePatchType, Body: []byte(`{}`),
			Verb: "change"},
		action.Delete[*corev1.Pod]{Resource: in, Object: pod},
		action.Update[*corev1.Pod]{Resource: in, Object: pod, Subresource: "status"},
		action.Absent{Resource: in, Namespace: namespace, Name: "a"},
	}
}

// Servers name the missing object by kind and name in different forms, and a namespace may have the same name
// as an object in it.
func TestClassifyNotFoundComparesNames(t *testing.T) {
	t.Parallel()
	in := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for _, c := range []struct {
		kind, name string
		unserved   bool
	}{
		{"deployments", "web", false}, {"deployments/scale", "web", false}, {"Deployment", "web", false},
		{"", "web", false},
		{"deployments", "another", true}, {"namespaces", "web", true}, {"configmaps", "web", true}, {"", "", true},
	} {
		err := apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: c.kind}, c.name)
		if got := action.ClassifyNotFound(err, in, "web"); errors.Is(got, action.ErrUnserved) != c.unserved ||
			!apierrors.IsNotFound(got) {
			t.Errorf("%s %q: got error %v, want ErrUnserved: %t", c.kind, c.name, got, c.unserved)
		}
	}
	silent := apierrors.NewNotFound(in.GroupResource(), "web")
	silent.ErrStatus.Details = nil // as for a webhook that returns only the status code
	for _, err := range []error{silent, apierrors.NewGenericServerResponse(404, "get", in.GroupResource(), "web", "", 0,
		true)} {
		if !errors.Is(action.ClassifyNotFound(err, in, "web"), action.ErrUnserved) {
			t.Errorf("%v: got a NotFound error about the object, want ErrUnserved", err)
		}
	}
	for _, other := range []error{nil, errors.New("refused")} {
		if got := action.ClassifyNotFound(other, in, "web"); !errors.Is(got, other) {
			t.Errorf("other error: got %v, want %v", got, other)
		}
	}
}
