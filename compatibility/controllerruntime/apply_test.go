package controllerruntime

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestClientAppliesBuiltInAndCustomKinds applies objects and their status. A field of another owner causes a
// conflict unless it is forced.
func TestClientAppliesBuiltInAndCustomKinds(t *testing.T) {
	t.Parallel()
	_, c := startWithShips(t)
	ctx := t.Context()
	configMap := func(v string) *applycore.ConfigMapApplyConfiguration {
		return applycore.ConfigMap("a", ns).WithData(map[string]string{"k": v})
	}
	ok(t, c.Apply(ctx, configMap("1"), client.FieldOwner("us")))
	if err := c.Apply(ctx, configMap("2"), client.FieldOwner("them")); !apierrors.IsConflict(err) {
		t.Errorf("applying another owner's field: got error %v, want a conflict", err)
	}
	ok(t, c.Apply(ctx, configMap("2"), client.FieldOwner("them"), client.ForceOwnership))
	var got corev1.ConfigMap
	ok(t, c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "a"}, &got))
	if got.Data["k"] != "2" || len(got.ManagedFields) != 1 || got.ManagedFields[0].Manager != "them" {
		t.Errorf("forced apply: got %v, want k=2 and one manager", got)
	}

	ship := func(part string, fields map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{part: fields}}
		u.SetGroupVersionKind(v2.WithKind("Ship"))
		u.SetNamespace(ns)
		u.SetName("a")
		return u
	}
	owned := client.WithFieldOwner(c, "us")
	ok(t, owned.Apply(ctx, client.ApplyConfigurationFromUnstructured(ship("spec", map[string]any{"crew": "six"}))))
	status := client.ApplyConfigurationFromUnstructured(ship("status", map[string]any{"cargo": "tea"}))
	ok(t, owned.Status().Apply(ctx, status))
	var is Ship
	ok(t, c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "a"}, &is))
	if is.Spec.Crew != "six" || is.Status.Cargo != "tea" || len(is.ManagedFields) != 2 {
		t.Errorf("after apply: got ship %v, want crew six, cargo tea and two managers", is)
	}
}
