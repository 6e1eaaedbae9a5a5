package clientgo

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

func TestTypedClientsApplyEveryKind(t *testing.T) {
	t.Parallel()
	for _, k := range everyKind(t, plane.Start(t)) {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			k.testApply(t)
		})
	}
}

// testApply creates an object by apply, causes a conflict with another manager, and removes the field that it
// owns.
func (k typedKind[T, L, A]) testApply(t *testing.T) {
	ctx, us := t.Context(), metav1.ApplyOptions{FieldManager: "us"}
	first := plane.Must(k.client.Apply(ctx, k.declare(k.String()), us))(t)
	if len(first.GetManagedFields()) != 1 || first.GetManagedFields()[0].Manager != "us" {
		t.Errorf("got managed fields %v, want those of one manager", first.GetManagedFields())
	}
	again := plane.Must(k.client.Apply(ctx, plane.Must(k.extract(first, "us"))(t), us))(t)
	if again.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("applying the extracted configuration: got %v, want %v unchanged", again, first)
	}

	again.SetAnnotations(map[string]string{"declared": "no"})
	plane.Must(k.client.Update(ctx, again, metav1.UpdateOptions{FieldManager: "them"}))(t)
	if _, err := k.client.Apply(ctx, k.declare(k.String()), us); !apierrors.IsConflict(err) {
		t.Errorf("applying a field that another manager changed: got error %v, want a conflict", err)
	}
	us.Force = true
	forced := plane.Must(k.client.Apply(ctx, k.declare(k.String()), us))(t)
	if forced.GetAnnotations()["declared"] != "yes" {
		t.Errorf("forced apply: got %v, want the declared annotation", forced)
	}
}
