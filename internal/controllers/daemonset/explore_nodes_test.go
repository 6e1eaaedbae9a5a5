package daemonset_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/daemonset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// A node is added, one stops matching the set, and one is deleted. One of two controllers may observe that
// late, and neither undoes the other's actions.
func TestTwoControllersConvergeOverNodeChanges(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone(), bowlinetest.Objects(matchingNode("a"), matchingNode("b"))},
		Processes:  trial.Of(daemonset.Add).Twice(),
		Act:        changeNodes,
		Settle:     3 * time.Minute,
		Invariants: []func(bowlinetest.State) error{atMostOnePerNode},
		Compare:    byNode,
		// Delays in the caches of pods and sets are explored by other tests.
		Skip: func(p bowlinetest.Point) bool { return p.Resource != "nodes" },
	})
}

// matchingNode returns a node that matches the set.
func matchingNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"disk": "ssd"}}}
}

// changeNodes creates a set for the nodes a and b, then adds node c, then changes a so that it no longer matches,
// and then deletes b. The pods are never bound, so only the set's controller can delete those of the deleted
// node.
func changeNodes(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "default"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	if _, err := client.For[*appsv1.DaemonSet](c).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return err
	}
	nodes := client.For[*corev1.Node](c)
	for _, change := range []func() error{
		func() error {
			_, err := nodes.Create(ctx, matchingNode("c"), metav1.CreateOptions{})
			return err
		},
		func() error {
			patch := []byte(`{"metadata":{"labels":{"disk":null}}}`)
			_, err := nodes.Patch(ctx, "", "a", "", types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		},
		func() error { return nodes.Delete(ctx, "", "b", metav1.DeleteOptions{}) },
	} {
		time.Sleep(time.Minute) // longer than any delay in the scenario
		if err := change(); err != nil {
			return err
		}
	}
	return nil
}

// atMostOnePerNode fails if a node has two pods.
func atMostOnePerNode(s bowlinetest.State) error {
	on := map[string]int{}
	for _, pod := range s.Kind("Pod") {
		if on[targetNode(pod)]++; on[targetNode(pod)] > 1 {
			return fmt.Errorf("got %d pods for node %s, want at most 1", on[targetNode(pod)], targetNode(pod))
		}
	}
	return nil
}
