package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/internal/trial"
	"github.com/bowline-dev/bowline/node/simulated"
)

// addNodes adds two simulated nodes with room for two pods each, and a ReplicaSet controller.
func addNodes(m *controller.Manager) error {
	simulated.Add(m, simulated.Options{Nodes: 2, HeartbeatInterval: time.Hour, Capacity: node("", nil).Status.Capacity})
	replicaset.Add(m)
	return ready(m)
}

// refill creates pods that fit on the nodes, deletes some of them, and creates more.
func refill(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	sets, pods := client.For[*appsv1.ReplicaSet](c), client.For[*corev1.Pod](c)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	set.Spec.Replicas, set.Spec.Selector = new(int32(2)),
		&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec = podRequesting("", "").Spec
	if _, err := sets.Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return err
	}
	for range 2 {
		time.Sleep(10 * time.Second)
		page, err := pods.List(ctx, "default", metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range page.Items[:min(1, len(page.Items))] {
			if err := pods.Delete(ctx, "default", pod.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
		scale := []byte(`{"spec":{"replicas":4}}`)
		if _, err := sets.Patch(ctx, "default", "web", "", types.MergePatchType, scale,
			metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// overrun fails if a node runs more pods than fit.
func overrun(s bowlinetest.State) error {
	on := map[string]int{}
	for _, pod := range s.Kind("Pod") {
		name, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == string(corev1.PodRunning) {
			on[name]++
		}
	}
	for name, pods := range on {
		if pods > 2 {
			return fmt.Errorf("node %s: got %d running pods, want at most 2", name, pods)
		}
	}
	return nil
}

// running reduces the state to the ReplicaSet, which counts the running pods. Which pods a node rejected
// depends on timing.
func running(s bowlinetest.State) bowlinetest.State {
	s.Objects = slices.DeleteFunc(slices.Clone(s.Objects), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != "ReplicaSet"
	})
	return s
}

// Two concurrent schedulers may assign the same room twice, as happens in one of several hundred runs here.
// The node admits the first pod, and in the end as many pods run as fit.
func TestTwoSchedulersOverfillNoRunningNode(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(addNodes)},
		Processes:  trial.Of(scheduler.Add).Twice(),
		Act:        refill,
		Settle:     5 * time.Minute,
		Invariants: []func(bowlinetest.State) error{overrun},
		Compare:    running,
		Skip:       trial.Events,
		Budget:     60,
	})
}
