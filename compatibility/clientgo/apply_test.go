package clientgo

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applyautoscaling "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestManyManagersDeclareOneDeployment checks that each manager owns its part, that a part is removed when it
// is no longer declared, and that a conflict names the manager and the field.
func TestManyManagersDeclareOneDeployment(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t).AppsV1().Deployments(ns)
	spec := applyapps.DeploymentSpec().WithSelector(applySelector()).WithTemplate(applyTemplate())
	plane.Must(client.Apply(ctx, applyapps.Deployment("a", ns).WithSpec(spec.WithReplicas(2)),
		metav1.ApplyOptions{FieldManager: "owner"}))(t)

	sidecar := applyapps.Deployment("a",
		ns).WithSpec(applyapps.DeploymentSpec().WithTemplate(applycore.PodTemplateSpec().
		WithSpec(applycore.PodSpec().WithContainers(applycore.Container().WithName("sidecar").WithImage("s")))))
	both := plane.Must(client.Apply(ctx, sidecar, metav1.ApplyOptions{FieldManager: "injector"}))(t)
	if n := len(both.Spec.Template.Spec.Containers); n != 2 {
		t.Errorf("got %d containers, want 2", n)
	}
	five := applyapps.Deployment("a", ns).WithSpec(applyapps.DeploymentSpec().WithReplicas(5))
	_, err := client.Apply(ctx, five, metav1.ApplyOptions{FieldManager: "scaler"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"owner"`) ||
		!strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("got error %v, want a conflict that names the manager and the field", err)
	}
	scale := applyautoscaling.Scale().WithSpec(applyautoscaling.ScaleSpec().WithReplicas(5))
	scale.WithName("a").WithNamespace(ns)
	plane.Must(client.ApplyScale(ctx, "a", scale, metav1.ApplyOptions{FieldManager: "scaler", Force: true}))(t)
	status := applyapps.Deployment("a", ns).WithStatus(applyapps.DeploymentStatus().WithReplicas(5))
	plane.Must(client.ApplyStatus(ctx, status, metav1.ApplyOptions{FieldManager: "controller"}))(t)
	// The scaler now owns replicas, so the owner's apply without replicas does not change them.
	spec.Replicas = nil
	last := plane.Must(client.Apply(ctx, applyapps.Deployment("a", ns).WithSpec(spec),
		metav1.ApplyOptions{FieldManager: "owner"}))(t)
	if *last.Spec.Replicas != 5 || last.Status.Replicas != 5 {
		t.Errorf("got spec %v, status %v; want 5 replicas in both", last.Spec, last.Status)
	}
	var managers []string
	for _, m := range last.ManagedFields {
		managers = append(managers, m.Manager+"/"+m.Subresource)
	}
	slices.Sort(managers)
	if want := []string{"controller/status", "injector/", "owner/", "scaler/scale"}; !slices.Equal(managers, want) {
		t.Errorf("got managers %v, want %v", managers, want)
	}
	own := plane.Must(applyapps.ExtractDeployment(last, "injector"))(t)
	if c := own.Spec.Template.Spec.Containers; len(c) != 1 || *c[0].Name != "sidecar" || own.Spec.Replicas != nil {
		t.Errorf("got spec of the injector %v, want only the sidecar", own.Spec)
	}
}

func TestDynamicClientAppliesCustomResources(t *testing.T) {
	t.Parallel()
	config, ctx := plane.Start(t), t.Context()
	plane.Define(t, config, plane.Widgets(t))
	client := plane.Must(dynamic.NewForConfig(config))(t).Resource(widgets).Namespace(ns)
	us, them := metav1.ApplyOptions{FieldManager: "us"}, metav1.ApplyOptions{FieldManager: "them"}
	plane.Must(client.Apply(ctx, "a", widget(t, "a", `{"parts":[{"name":"x","weight":1}]}`), us))(t)
	u := plane.Must(client.Apply(ctx, "a", widget(t, "a", `{"parts":[{"name":"y","weight":2}]}`), them))(t)
	if parts := field(t, u, "spec", "parts").([]any); len(parts) != 2 {
		t.Errorf("got parts %v, want those of both managers", parts)
	}
	if _, err := client.Apply(ctx, "a", widget(t, "a", `{"parts":[{"name":"x","weight":3}]}`),
		them); !apierrors.IsConflict(err) {
		t.Errorf("applying another manager's field: got error %v, want a conflict", err)
	}
	u = plane.Must(client.Apply(ctx, "a", widget(t, "a", `{}`), us))(t)
	if parts := field(t, u, "spec", "parts").([]any); len(parts) != 1 {
		t.Errorf("got parts %v, want only the other manager's", parts)
	}
	status := widget(t, "a", `{}`)
	delete(status.Object, "spec")
	status.Object["status"] = map[string]any{"size": int64(4)}
	u = plane.Must(client.ApplyStatus(ctx, "a", status, us))(t)
	if size := field(t, u, "status", "size"); size != int64(4) {
		t.Errorf("got status.size %v, want 4", size)
	}
}

// TestUpgradeFromClientSideApply checks that after csaupgrade kubectl's server-side apply owns what its
// updates owned.
func TestUpgradeFromClientSideApply(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t).CoreV1().ConfigMaps(ns)
	o := plane.Must(client.Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "1", "old": "1"}},
		metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}))(t)
	patch := plane.Must(csaupgrade.UpgradeManagedFieldsPatch(o, sets.New("kubectl-client-side-apply"), "kubectl"))(t)
	plane.Must(client.Patch(ctx, "a", types.JSONPatchType, patch, metav1.PatchOptions{}))(t)
	declared := applycore.ConfigMap("a", ns).WithData(map[string]string{"k": "2"})
	applied := plane.Must(client.Apply(ctx, declared, metav1.ApplyOptions{FieldManager: "kubectl"}))(t)
	if len(applied.Data) != 1 || applied.Data["k"] != "2" || len(applied.ManagedFields) != 1 {
		t.Errorf("got data %v, managed fields %v; want only k=2 and one manager", applied.Data, applied.ManagedFields)
	}
	late := plane.Must(csaupgrade.UpgradeManagedFieldsPatch(o, sets.New("kubectl-client-side-apply"), "kubectl"))(t)
	if _, err := client.Patch(ctx, "a", types.JSONPatchType, late, metav1.PatchOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("upgrade of an outdated object: got error %v, want a conflict", err)
	}
}
