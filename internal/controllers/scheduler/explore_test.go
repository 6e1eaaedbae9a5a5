package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/internal/trial"
)

// podRequesting returns a pod that requests half a node and terminates immediately.
func podRequesting(name, class string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	p.Spec.PriorityClassName = class
	p.Spec.TerminationGracePeriodSeconds = new(int64(0))
	p.Spec.Containers = []corev1.Container{{Name: "web", Image: "web", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
	}}}
	return p
}

// fillAndPreempt fills two nodes. One more pod waits until another one is deleted, and the late pod preempts the
// expendable one.
func fillAndPreempt(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	pods := client.For[*corev1.Pod](c)
	for _, p := range []*corev1.Pod{podRequesting("one", ""), podRequesting("two", ""), podRequesting("three", ""),
		podRequesting("expendable", "expendable")} {
		if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return err
		}
		time.Sleep(5 * time.Second)
	}
	time.Sleep(15 * time.Second)
	if _, err := pods.Create(ctx, podRequesting("late", ""), metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(20 * time.Second)
	return pods.Delete(ctx, "default", "one", metav1.DeleteOptions{})
}

// notOverfilled fails if a node has more pods than fit.
func notOverfilled(s bowlinetest.State) error {
	on := map[string]int{}
	for _, pod := range s.Kind("Pod") {
		if node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName"); node != "" {
			on[node]++
		}
	}
	for node, pods := range on {
		if pods > 2 {
			return fmt.Errorf("node %s: got %d pods, want at most 2", node, pods)
		}
	}
	return nil
}

// spared fails if a pod that is not expendable was preempted.
func spared(s bowlinetest.State) error {
	if s.Find("Pod", "default", "late") != nil &&
		(s.Find("Pod", "default", "two") == nil || s.Find("Pod", "default", "three") == nil) {
		return fmt.Errorf("a pod that is not expendable was preempted")
	}
	return nil
}

// anyNode removes the names of the nodes and the expendable pod from the state, since both depend on timing:
// if the expendable pod was bound before the late one arrived, it is preempted; otherwise it gets the room
// that is free in the end.
func anyNode(s bowlinetest.State) bowlinetest.State {
	s.Objects = slices.DeleteFunc(slices.Clone(s.Objects), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Pod" && o.GetName() == "expendable"
	})
	for i, o := range s.Objects {
		if node, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName"); o.GetKind() == "Pod" && node != "" {
			o = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(o.Object)}
			_ = unstructured.SetNestedField(o.Object, "some", "spec", "nodeName")
			s.Objects[i] = o
		}
	}
	return s
}

func scenario(processes []bowlinetest.Process, nodes ...client.Object) bowlinetest.Scenario {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "expendable"}, Value: -10}
	return bowlinetest.Scenario{
		Options: []bowlinetest.Option{
			trial.Alone(), bowlinetest.Objects(append(nodes, class)...), bowlinetest.Manage(ready),
		},
		Processes:  processes,
		Act:        fillAndPreempt,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{spared},
		Compare:    anyNode,
		Skip:       trial.Events,
		Budget:     30,
	}
}

func TestFaultsOverfillNoNode(t *testing.T) {
	t.Parallel()
	s := scenario(trial.Of(scheduler.Add).Once(), node("a", nil), node("b", nil))
	s.Invariants = append(s.Invariants, notOverfilled)
	bowlinetest.Explore(t, s)
}

// Two schedulers that observe the same state make the same decision. With different caches they may overfill
// a node, as two kube-schedulers without leader election do, and the node rejects a pod. But each pod gets
// one node, and no pod is preempted needlessly.
func TestTwoSchedulersBindEachPodOnce(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, scenario(trial.Of(scheduler.Add).Twice(), node("a", nil), node("b", nil)))
}

// uncordon deletes one of two expendable pods on a cordoned node and then uncordons the node, for which an
// important pod waits.
func uncordon(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	pods, nodes := client.For[*corev1.Pod](c), client.For[*corev1.Node](c)
	gone, stays := podRequesting("gone", "expendable"), podRequesting("stays", "expendable")
	gone.Spec.NodeName, stays.Spec.NodeName = "a", "a"
	for _, p := range []*corev1.Pod{gone, stays, podRequesting("important", "")} {
		if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(time.Minute)
	if err := pods.Delete(ctx, "default", "gone", metav1.DeleteOptions{}); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	_, err = nodes.Patch(ctx, "", "a", "", types.MergePatchType, []byte(`{"spec":{"unschedulable":false}}`),
		metav1.PatchOptions{})
	return err
}

// A scheduler with a stale cache preempts no pod if there is room.
func TestStaleCachePreemptsNoPodNeedlessly(t *testing.T) {
	t.Parallel()
	cordoned := node("a", nil)
	cordoned.Spec.Unschedulable = true
	s := scenario(trial.Of(scheduler.Add).Twice(), cordoned)
	s.Act, s.Compare = uncordon, nil
	s.Invariants = []func(bowlinetest.State) error{notOverfilled, func(s bowlinetest.State) error {
		if s.Find("Pod", "default", "important") != nil && s.Find("Pod", "default", "stays") == nil {
			return fmt.Errorf("a pod was preempted although the node has room")
		}
		return nil
	}}
	bowlinetest.Explore(t, s)
}
