package controllerruntime

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestClientReadsObjectInThreeForms reads an object as a struct, as an unstructured object, and as
// metadata.
func TestClientReadsObjectInThreeForms(t *testing.T) {
	t.Parallel()
	_, c := startWithShips(t)
	ctx := t.Context()
	ship := &Ship{ObjectMeta: named("a"), Spec: ShipSpec{Crew: "six"}}
	ok(t, c.Create(ctx, ship))
	if ship.UID == "" || ship.Spec.Tonnes != 10 {
		t.Errorf("after create: got ship %v, want a uid and the default tonnes", ship)
	}
	untyped := &unstructured.Unstructured{}
	untyped.SetGroupVersionKind(v2.WithKind("Ship"))
	ok(t, c.Get(ctx, client.ObjectKeyFromObject(ship), untyped))
	if crew, _, _ := unstructured.NestedString(untyped.Object, "spec", "crew"); crew != "six" ||
		untyped.GetUID() != ship.UID {
		t.Errorf("got unstructured object %v, want crew six", untyped)
	}
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(v2.WithKind("Ship"))
	ok(t, c.Get(ctx, client.ObjectKeyFromObject(ship), partial))
	if partial.UID != ship.UID || partial.Kind != "Ship" {
		t.Errorf("got metadata %v, want that of the ship", partial)
	}
	partial.Labels = map[string]string{"l": "1"}
	ok(t, c.Patch(ctx, partial,
		client.MergeFrom(&metav1.PartialObjectMetadata{TypeMeta: partial.TypeMeta, ObjectMeta: ship.ObjectMeta})))
	var list ShipList
	ok(t, c.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{"l": "1"}, client.Limit(1)))
	if len(list.Items) != 1 || list.Items[0].Spec != ship.Spec {
		t.Errorf("got list %v, want one ship", list)
	}
	ok(t, c.DeleteAllOf(ctx, &Ship{}, client.InNamespace(ns), client.HasLabels{"l"}))
	if err := c.Get(ctx, client.ObjectKeyFromObject(ship), ship); !apierrors.IsNotFound(err) {
		t.Errorf("get after DeleteAllOf: got error %v, want NotFound", err)
	}
}

// TestClientSendsAllPatchTypes also checks that an optimistic lock causes a conflict if the base is
// outdated.
func TestClientSendsAllPatchTypes(t *testing.T) {
	t.Parallel()
	_, c := startWithShips(t)
	ctx := t.Context()
	o := &corev1.ConfigMap{ObjectMeta: named("a"), Data: map[string]string{"k": "0"}}
	ok(t, c.Create(ctx, o))
	old := o.DeepCopy()
	for value, patch := range map[string]client.Patch{
		"json":      client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/data/k","value":"json"}]`)),
		"merge":     client.RawPatch(types.MergePatchType, []byte(`{"data":{"k":"merge"}}`)),
		"strategic": client.RawPatch(types.StrategicMergePatchType, []byte(`{"data":{"k":"strategic"}}`)),
	} {
		ok(t, c.Patch(ctx, o, patch))
		if o.Data["k"] != value {
			t.Errorf("%s patch: got data %v, want k=%[1]s", value, o.Data)
		}
	}
	changed := old.DeepCopy()
	changed.Data["k"] = "late"
	for name, patch := range map[string]client.Patch{
		"merge":     client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}),
		"strategic": client.StrategicMergeFrom(old, client.MergeFromWithOptimisticLock{}),
	} {
		if err := c.Patch(ctx, changed.DeepCopy(), patch); !apierrors.IsConflict(err) {
			t.Errorf("%s patch of an outdated object with a lock: got error %v, want a conflict", name, err)
		}
	}
	ok(t, c.Patch(ctx, changed, client.MergeFrom(old)))
	if changed.Data["k"] != "late" || len(changed.Data) != 1 {
		t.Errorf("patch without a lock: got data %v, want k=late", changed.Data)
	}
}

func TestClientWritesSubresources(t *testing.T) {
	t.Parallel()
	_, c := startWithShips(t)
	ctx := t.Context()
	ship := &Ship{ObjectMeta: named("a"), Status: ShipStatus{Cargo: "none"}}
	ok(t, c.Create(ctx, ship))
	if ship.Status.Cargo != "" {
		t.Errorf("create with a status: got status %v, want none", ship.Status)
	}
	ship.Status.Cargo, ship.Spec.Crew = "tea", "ignored"
	ok(t, c.Status().Update(ctx, ship))
	if ship.Status.Cargo != "tea" || ship.Spec.Crew != "" {
		t.Errorf("status update: got %v, want only the status changed", ship)
	}
	base := ship.DeepCopyObject().(*Ship)
	ship.Status.Cargo = "rum"
	ok(t, c.Status().Patch(ctx, ship, client.MergeFrom(base)))
	ok(t, c.Get(ctx, client.ObjectKeyFromObject(ship), ship))
	if ship.Status.Cargo != "rum" || ship.Generation != 1 {
		t.Errorf("status patch: got %v, want cargo rum at generation 1", ship)
	}

	labels := map[string]string{"app": "a"}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	deployment := &appsv1.Deployment{ObjectMeta: named("a"),
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod}}
	ok(t, c.Create(ctx, deployment))
	scale := &autoscalingv1.Scale{}
	ok(t, c.SubResource("scale").Get(ctx, deployment, scale))
	scale.Spec.Replicas = 4
	ok(t, c.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale)))
	ok(t, c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment))
	if *deployment.Spec.Replicas != 4 {
		t.Errorf("after scale update: got %d replicas, want 4", *deployment.Spec.Replicas)
	}
	evicted := &corev1.Pod{ObjectMeta: named("a"), Spec: pod.Spec}
	ok(t, c.Create(ctx, evicted))
	ok(t, c.SubResource("eviction").Create(ctx, evicted, &policyv1.Eviction{}))
}

func TestClientWatchesAndDryRuns(t *testing.T) {
	t.Parallel()
	config, c := startWithShips(t)
	ctx := t.Context()
	w := plane.Must(c.Watch(ctx, &ShipList{}, client.InNamespace(ns)))(t)
	defer w.Stop()
	dry := client.NewDryRunClient(c)
	ok(t, dry.Create(ctx, &Ship{ObjectMeta: named("a"), Spec: ShipSpec{Tonnes: 3}}))
	if err := dry.Create(ctx, &Ship{ObjectMeta: named("a"), Spec: ShipSpec{Tonnes: -1}}); !apierrors.IsInvalid(err) {
		t.Errorf("dry run of an invalid ship: got error %v, want Invalid", err)
	}
	strict := client.WithFieldValidation(plane.Must(client.New(config, client.Options{Scheme: c.Scheme()}))(t),
		metav1.FieldValidationStrict)
	invalid := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"sails": int64(3)}}}
	invalid.SetGroupVersionKind(v2.WithKind("Ship"))
	invalid.SetNamespace(ns)
	invalid.SetName("a")
	if err := strict.Create(ctx, invalid); !apierrors.IsBadRequest(err) {
		t.Errorf("unknown field with strict validation: got error %v, want BadRequest", err)
	}
	ok(t, client.NewNamespacedClient(c, ns).Create(ctx, &Ship{ObjectMeta: metav1.ObjectMeta{Name: "real"}}))
	if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*Ship).Name != "real" {
		t.Errorf("first event: got %s %v, want real added", e.Type, e.Object)
	}
}

func TestCreateOrUpdateAndCreateOrPatchResults(t *testing.T) {
	t.Parallel()
	_, c := startWithShips(t)
	ctx := t.Context()
	results := func(name string, f func(*Ship, controllerutil.MutateFn) (controllerutil.OperationResult, error)) {
		var got []controllerutil.OperationResult
		for _, crew := range []string{"one", "one", "two"} {
			ship := &Ship{ObjectMeta: named(name)}
			got = append(got, plane.Must(f(ship, func() error { ship.Spec.Crew = crew; return nil }))(t))
		}
		want := []controllerutil.OperationResult{controllerutil.OperationResultCreated,
			controllerutil.OperationResultNone,
			controllerutil.OperationResultUpdated}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got results %v, want %v", name, got, want)
		}
	}
	results("update", func(s *Ship, f controllerutil.MutateFn) (controllerutil.OperationResult, error) {
		return controllerutil.CreateOrUpdate(ctx, c, s, f)
	})
	results("patch", func(s *Ship, f controllerutil.MutateFn) (controllerutil.OperationResult, error) {
		return controllerutil.CreateOrPatch(ctx, c, s, f)
	})
}
