package admission_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// quota allows a number of config maps per namespace, and labels each with its creator.
type quota struct{ max int }

func (quota) Name() string { return "ConfigMapQuota" }

func (quota) Handles(op admission.Operation, resource schema.GroupResource, subresource string) bool {
	return op == admission.Create && resource.Resource == "configmaps" && resource.Group == "" && subresource == ""
}

func (quota) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	labels := map[string]string{"creator": a.User}
	for key, value := range a.Object.GetLabels() {
		labels[key] = value
	}
	a.Object.SetLabels(labels)
	return nil
}

func (q quota) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	n := 0
	err := state.List(ctx, a.Resource.GroupResource(), a.Namespace, func(admission.Object) bool {
		n++
		return n < q.max
	})
	if err == nil && n >= q.max {
		return a.Forbidden("the namespace %s has %d config maps already", a.Namespace, n)
	}
	return err
}

// A plugin that changes and rejects writes.
func Example() {
	ctx := context.Background()
	plane, err := bowline.Start(ctx, bowline.Options{
		Plugins:     []admission.Plugin{quota{max: 1}},
		Controllers: []string{bowline.NoControllers}, // one of them creates a config map in each namespace
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plane.Close()

	configMaps := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().ConfigMaps("default")
	for _, name := range []string{"a", "b"} {
		made, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		fmt.Println(made.Labels["creator"] != "", err)
	}
	// Output:
	// true <nil>
	// false configmaps "b" is forbidden: the namespace default has 1 config maps already
}
