package clientgo

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// scalable starts a plane with one object of each scalable kind, named a, with size 1, and returns
// client-go's client.
func scalable(t *testing.T) (scale.ScalesGetter, *rest.Config) {
	t.Helper()
	config, ctx, one := plane.Start(t), t.Context(), new(int32)
	*one = 1
	plane.Define(t, config, plane.Widgets(t))
	typed := plane.Must(kubernetes.NewForConfig(config))(t)
	name := metav1.ObjectMeta{Name: "a"}
	plane.Must(typed.AppsV1().Deployments(ns).Create(ctx, &appsv1.Deployment{ObjectMeta: name,
		Spec: appsv1.DeploymentSpec{Replicas: one, Selector: selector(), Template: template()}},
		metav1.CreateOptions{}))(t)
	plane.Must(typed.AppsV1().ReplicaSets(ns).Create(ctx, &appsv1.ReplicaSet{ObjectMeta: name,
		Spec: appsv1.ReplicaSetSpec{Replicas: one, Selector: selector(), Template: template()}},
		metav1.CreateOptions{}))(t)
	untyped := plane.Must(dynamic.NewForConfig(config))(t).Resource(widgets).Namespace(ns)
	plane.Must(untyped.Create(ctx, widget(t, "a", `{"size":1}`), metav1.CreateOptions{}))(t)

	discovered := plane.Must(discovery.NewDiscoveryClientForConfig(config))(t)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovered))
	kinds := scale.NewDiscoveryScaleKindResolver(discovered)
	return plane.Must(scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, kinds))(t), config
}

func TestScaleClient(t *testing.T) {
	t.Parallel()
	scales, _ := scalable(t)
	ctx, client := t.Context(), scales.Scales(ns)
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	for _, r := range []schema.GroupVersionResource{apps.WithResource("deployments"), apps.WithResource("replicasets"),
		widgets} {
		s := plane.Must(client.Get(ctx, r.GroupResource(), "a", metav1.GetOptions{}))(t)
		if s.Spec.Replicas != 1 {
			t.Errorf("%v: got scale %v, want 1 replica", r, s)
		}
		old := s.DeepCopy()
		s.Spec.Replicas = 2
		s = plane.Must(client.Update(ctx, r.GroupResource(), s, metav1.UpdateOptions{}))(t)
		if s.Spec.Replicas != 2 || s.ResourceVersion == old.ResourceVersion {
			t.Errorf("%v: update: got scale %v, want 2 replicas and another version", r, s)
		}
		if _, err := client.Update(ctx, r.GroupResource(), old, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("%v: update of an outdated scale: got error %v, want a conflict", r, err)
		}
		s = plane.Must(client.Patch(ctx, r, "a", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`),
			metav1.PatchOptions{}))(t)
		if s.Spec.Replicas != 3 {
			t.Errorf("%v: patch: got scale %v, want 3 replicas", r, s)
		}
	}
}

func TestTypedClientScalesDeployments(t *testing.T) {
	t.Parallel()
	_, config := scalable(t)
	ctx, client := t.Context(), plane.Must(kubernetes.NewForConfig(config))(t).AppsV1().Deployments(ns)
	s := plane.Must(client.GetScale(ctx, "a", metav1.GetOptions{}))(t)
	s.Spec = autoscalingv1.ScaleSpec{Replicas: 5}
	plane.Must(client.UpdateScale(ctx, "a", s, metav1.UpdateOptions{}))(t)
	d := plane.Must(client.Get(ctx, "a", metav1.GetOptions{}))(t)
	if *d.Spec.Replicas != 5 || d.Generation != 2 {
		t.Errorf("got %d replicas at generation %d, want 5 at 2", *d.Spec.Replicas, d.Generation)
	}
}
