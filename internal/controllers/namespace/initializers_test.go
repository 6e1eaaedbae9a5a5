package namespace_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

var initializerConfigurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1alpha1",
	Resource: "initializerconfigurations"}

const unreachable = `{"apiVersion":"admissionregistration.k8s.io/v1alpha1","kind":"InitializerConfiguration","metadata":{"name":"nobody"},
	"initializers":[{"name":"nobody.initializer.example.com","rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps","pods"]}]}]}`

// Uninitialized objects are hidden from ordinary lists, but are part of the namespace's content.
func TestUninitializedContentIsDeleted(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		create(w, initializerConfigurations, unstructuredOf(w.t, unreachable))
		maps := client.Of[*corev1.ConfigMap](w.client, configmaps).Uninitialized()
		if _, err := maps.Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: meta("held", "example.com/hold")},
			metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
		if _, err := client.Of[*corev1.Pod](w.client, pods).Uninitialized().Create(w.t.Context(), boundPod("p", "gone"),
			metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
		w.doom()
		time.Sleep(5 * time.Minute)
		w.expectConditions(
			"NamespaceContentRemaining: SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
			"NamespaceFinalizersRemaining: SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances")
		if _, err := maps.Patch(w.t.Context(), "doomed", "held", "",
			types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if w.remains() {
			w.t.Error("the namespace still exists after the finalizer was removed")
		}
	})
}

// A namespace that did not wait for an uninitialized pod would leave it behind without a namespace.
func TestUninitializedPodsAreAwaited(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		create(w, initializerConfigurations, unstructuredOf(w.t, unreachable))
		pod := boundPod("p", "gone")
		pod.Finalizers = []string{"example.com/hold"}
		all := client.Of[*corev1.Pod](w.client, pods).Uninitialized()
		if _, err := all.Create(w.t.Context(), pod, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
		w.doom()
		time.Sleep(5 * time.Minute)
		w.expectConditions("NamespaceContentRemaining: SomeResourcesRemain: "+
			"Some resources are remaining: pods. has 1 resource instances",
			"NamespaceFinalizersRemaining: SomeFinalizersRemain: "+
				"Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances")
	})
}
