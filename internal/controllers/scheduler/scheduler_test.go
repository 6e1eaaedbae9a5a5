package scheduler_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/internal/trial"
)

var nodesResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// TestTranscripts uses three nodes of four cores: a and b in the zone east, and c, which has a fast disk, in
// west.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Objects(
		node("a", map[string]string{corev1.LabelTopologyZone: "east"}),
		node("b", map[string]string{corev1.LabelTopologyZone: "east"}),
		node("c", map[string]string{corev1.LabelTopologyZone: "west", "disk": "fast"}),
	), bowlinetest.Manage(func(m *controller.Manager) error {
		scheduler.Add(m)
		return ready(m)
	}))
}

func node(name string, labels map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	for key, value := range labels {
		n.Labels[key] = value
	}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("10"),
	}
	n.Status.Capacity = n.Status.Allocatable
	return n
}

// ready removes the not-ready taint that admission adds to new nodes.
func ready(m *controller.Manager) error {
	nodes := informer.For[*corev1.Node](m.Informers(), nodesResource)
	writes := client.Of[*corev1.Node](m.Client(), nodesResource)
	isNew := func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }
	m.Add(controller.Options{
		Name:    "ready",
		Sources: []controller.Source{controller.For(nodes)},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			n, found := nodes.Indexer().Get(request)
			if !found || !slices.ContainsFunc(n.Spec.Taints, isNew) {
				return controller.Result{}, nil
			}
			n = n.DeepCopy()
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, isNew)
			_, err := writes.Update(ctx, n, metav1.UpdateOptions{})
			return controller.Result{}, err
		}),
	})
	return nil
}
