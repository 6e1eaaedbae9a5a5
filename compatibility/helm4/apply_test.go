package helm4

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestUpgradeConflictsWithOtherManager checks that with server-side apply an upgrade fails with a conflict that
// names the manager and the field, and overwrites no value unless it is forced.
func TestUpgradeConflictsWithOtherManager(t *testing.T) {
	t.Parallel()
	w := newFixture(t, mode{true, kube.StatusWatcherStrategy})
	w.install(t, values{"color": "blue"})
	repaint := []byte(`{"spec":{"color":"pink"}}`)
	_, err := w.objects.Resource(boats).Namespace(ns).
		Patch(t.Context(), "a", types.MergePatchType, repaint, metav1.PatchOptions{FieldManager: "painter"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.upgrade(values{"color": "red"})
	if err == nil || !strings.Contains(err.Error(), "painter") || !strings.Contains(err.Error(), ".spec.color") {
		t.Errorf("got error %v, want a conflict that names painter and .spec.color", err)
	}
	plane.Must(w.upgrade(values{"color": "red"}, func(u *action.Upgrade) { u.ForceConflicts = true }))(t)
	if color, _ := w.boat(t); color != "red" {
		t.Errorf("after the forced upgrade: got color %v, want red", color)
	}
}

// TestUpgradeTakesOverFromClientSideApply upgrades a release that was installed by client-side apply, as in
// Helm 3, by server-side apply.
func TestUpgradeTakesOverFromClientSideApply(t *testing.T) {
	t.Parallel()
	w := newFixture(t, mode{false, kube.LegacyStrategy})
	w.install(t, values{"color": "blue"})
	w.mode = mode{true, kube.StatusWatcherStrategy}
	plane.Must(w.upgrade(values{"color": "red"}))(t)
	u := plane.Must(w.objects.Resource(boats).Namespace(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	applied := slices.ContainsFunc(u.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Operation == metav1.ManagedFieldsOperationApply
	})
	if color, _ := w.boat(t); color != "red" || !applied {
		t.Errorf("got color %v, managed fields %v; want red, and an apply among them", color, u.GetManagedFields())
	}
}
