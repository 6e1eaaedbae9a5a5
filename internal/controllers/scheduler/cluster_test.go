package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/internal/trial"
)

// Nodes and pods are created, changed, ended and deleted in random order, also under reused names, and partly
// at the same instant.
func TestClusterMatchesItsCaches(t *testing.T) {
	t.Parallel()
	const seed = 7
	var check func() error
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		r := rand.New(rand.NewPCG(seed, seed))
		nodes, pods := bowlinetest.Client[*corev1.Node](t, p), bowlinetest.Client[*corev1.Pod](t, p)
		for i := range 800 {
			if err := randomOperation(t.Context(), r, nodes, pods); err != nil && !apierrors.IsNotFound(err) &&
				!apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
			if r.IntN(5) > 0 {
				continue
			}
			synctest.Wait()
			if err := check(); err != nil {
				t.Fatalf("after operation %d: %v", i, err)
			}
			time.Sleep(time.Duration(r.IntN(3)) * time.Second)
		}
	}, trial.Alone(), bowlinetest.Objects(
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 10},
	), bowlinetest.Manage(func(m *controller.Manager) error {
		check = scheduler.AddChecked(m)
		return ready(m)
	}))
}

// randomOperation executes one random operation.
func randomOperation(ctx context.Context, r *rand.Rand, nodes client.Resource[*corev1.Node],
	pods client.Resource[*corev1.Pod]) error {
	nodeName, podName := fmt.Sprintf("node-%d", r.IntN(4)), fmt.Sprintf("pod-%02d", r.IntN(20))
	merge := func(subresource, patch string) error {
		_, err := pods.Patch(ctx, "default", podName, subresource, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
		return err
	}
	switch r.IntN(9) {
	case 0:
		n := node(nodeName, map[string]string{corev1.LabelTopologyZone: fmt.Sprint(r.IntN(2))})
		n, err := nodes.Create(ctx, n, metav1.CreateOptions{})
		if err == nil {
			n.ResourceVersion, n.Status = "", node(nodeName, nil).Status
			_, err = nodes.UpdateStatus(ctx, n, metav1.UpdateOptions{})
		}
		return err
	case 1:
		if r.IntN(3) > 0 {
			return nil
		}
		return nodes.Delete(ctx, "", nodeName, metav1.DeleteOptions{})
	case 2, 3, 4, 5:
		_, err := pods.Create(ctx, randomPod(podName, r), metav1.CreateOptions{})
		return err
	case 6:
		return pods.Delete(ctx, "default", podName, metav1.DeleteOptions{})
	case 7:
		return merge("status", `{"status":{"phase":"Succeeded"}}`)
	default:
		return merge("", fmt.Sprintf(`{"metadata":{"labels":{"app":"%d"}}}`, r.IntN(3)))
	}
}

// randomPod returns a pod with one of several kinds of requirements, or one that is already bound.
func randomPod(name string, r *rand.Rand) *corev1.Pod {
	p := podRequesting(name, []string{"", "urgent"}[r.IntN(2)])
	p.Labels = map[string]string{"app": fmt.Sprint(r.IntN(3))}
	switch r.IntN(4) {
	case 0:
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
			}},
		}}
	case 1:
		p.Spec.NodeName = fmt.Sprintf("node-%d", r.IntN(4))
	}
	return p
}

// Room for two pods becomes available after all pods have been tried. Preemption is disabled.
func TestPodsAreScheduledByPriority(t *testing.T) {
	t.Parallel()
	never := corev1.PreemptNever
	class := func(name string, value int32) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value,
			PreemptionPolicy: &never}
	}
	all := []client.Object{class("high", 10), node("one", nil)}
	for i := range 20 {
		all = append(all, podRequesting(fmt.Sprintf("a-low-one-%d", i), ""))
	}
	all = append(all, podRequesting("high", "high"), podRequesting("higher-still", "high"))
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		time.Sleep(5 * time.Second)
		synctest.Wait()
		untaint := []byte(`{"spec":{"taints":null}}`)
		if _, err := bowlinetest.Client[*corev1.Node](t, p).Patch(t.Context(), "", "one", "", types.MergePatchType,
			untaint,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range page.Items {
			if bound, isHigh := pod.Spec.NodeName != "", pod.Spec.PriorityClassName == "high"; bound != isHigh {
				t.Errorf("pod %s: got node %q, want it bound: %t", pod.Name, pod.Spec.NodeName, isHigh)
			}
		}
	}, trial.Alone(), bowlinetest.Objects(all...), bowlinetest.Manage(func(m *controller.Manager) error {
		scheduler.Add(m)
		return nil
	}))
}

// Pods that wait for a large node are tried once, however many small nodes are added, and once more when a
// large node is added.
func TestWaitingPodsAreRetriedOnRelevantChanges(t *testing.T) {
	t.Parallel()
	const waiting = 50
	all := []client.Object{node("small", nil)}
	for i := range waiting {
		p := podRequesting(fmt.Sprintf("pod-%02d", i), "")
		p.Spec.NodeSelector = map[string]string{"size": "large"}
		all = append(all, p)
	}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		add := func(n *corev1.Node) {
			status := n.Status
			n, err := bowlinetest.Client[*corev1.Node](t, p).Create(t.Context(), n, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			n.ResourceVersion, n.Status = "", status
			if _, err := bowlinetest.Client[*corev1.Node](t, p).UpdateStatus(t.Context(), n,
				metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		for i := range 20 {
			add(node(fmt.Sprintf("small-%d", i), nil))
		}
		synctest.Wait()
		if bound, failures := outcome(t, p); bound != 0 || failures != waiting {
			t.Errorf("small nodes: got %d bound pods, %d failure events; want 0, %d", bound, failures, waiting)
		}
		add(node("large", map[string]string{"size": "large"}))
		synctest.Wait()
		if bound, failures := outcome(t, p); bound != 2 || failures != 2*waiting-2 {
			t.Errorf("large node: got %d bound pods, %d failure events; want 2, %d", bound, failures, 2*waiting-2)
		}
	}, trial.Alone(), bowlinetest.Objects(all...), bowlinetest.Manage(func(m *controller.Manager) error {
		scheduler.Add(m)
		return ready(m)
	}))
}

// outcome returns how many pods are bound, and how often FailedScheduling was recorded.
func outcome(t *testing.T, p *bowlinetest.Plane) (bound, failures int) {
	pods, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" {
			bound++
		}
	}
	events, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "",
		metav1.ListOptions{FieldSelector: "reason=FailedScheduling"})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		failures += int(event.Count)
	}
	return bound, failures
}
