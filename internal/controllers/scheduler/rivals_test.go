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
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/node/simulated"
)

// rooms are two nodes that run what they have room for, two pods each, and a ReplicaSet's controller.
func rooms(m *controller.Manager) error {
	simulated.Add(m, simulated.Options{Nodes: 2, Beat: time.Hour, Capacity: node("", nil).Status.Capacity})
	replicaset.Add(m)
	return ready(m)
}

// asMany is what users do: pods for which there is room come by and by, some of them leave, and others come in their place.
func asMany(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	sets, pods := client.For[*appsv1.ReplicaSet](c), client.For[*corev1.Pod](c)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	set.Spec.Replicas, set.Spec.Selector = new(int32(2)), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec = asking("", "").Spec
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
		if _, err := sets.Patch(ctx, "default", "web", "", types.MergePatchType, scale, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// overrun is broken when a node runs more pods than it has room for.
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
			return fmt.Errorf("node %s runs %d pods, and has room for 2", name, pods)
		}
	}
	return nil
}

// running is how many pods run, by the word of their ReplicaSet. Which ones a node had no room for is chance.
func running(s bowlinetest.State) bowlinetest.State {
	s.Objects = slices.DeleteFunc(slices.Clone(s.Objects), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != "ReplicaSet"
	})
	return s
}

// Two schedulers that work at once may give one room away twice, as they do in one of some hundred runs here. The node takes
// who comes first, and in the end as many pods run as there is room for.
func TestTwoSchedulersHaveNoNodeRunMoreThanItHasRoomFor(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(rooms)},
		Processes:  trial.Of(scheduler.Add).Twice(),
		Act:        asMany,
		Settle:     5 * time.Minute,
		Invariants: []func(bowlinetest.State) error{overrun},
		Compare:    running,
		Skip:       trial.Events,
		Budget:     60,
	})
}
