package simulated_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// bound returns a pod on node-0.
func bound(name string, annotations map[string]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: annotations}}
	pod.Spec.NodeName, pod.Spec.RestartPolicy = "node-0", corev1.RestartPolicyNever
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx"}}
	return pod
}

// A node has 254 addresses. Pods that have ended remain in the API, as those of a large Job do, but need no
// address, even if they are changed.
func TestEndedPodsReleaseTheirAddresses(t *testing.T) {
	t.Parallel()
	const all, atOnce = 400, 100
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		for i := range all {
			pod := bound(fmt.Sprintf("work-%d", i), map[string]string{simulated.Prefix + "complete-after": "1s"})
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if i%atOnce < atOnce-1 {
				continue
			}
			time.Sleep(10 * time.Second)
			for ended := range i + 1 {
				name, label := fmt.Sprintf("work-%d", ended),
					fmt.Appendf(nil, `{"metadata":{"labels":{"seen":"%d"}}}`, i)
				if _, err := pods.Patch(t.Context(), "default", name, "", types.MergePatchType, label,
					metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		page, err := pods.List(t.Context(), "default", metav1.ListOptions{FieldSelector: "status.phase=Succeeded"})
		if err != nil || len(page.Items) != all {
			t.Errorf("got %d succeeded pods (%v), want %d", len(page.Items), err, all)
		}
	}, nodes(1, 0))
}

// runNodes runs simulated nodes as a separate program until stop is called.
func runNodes(t *testing.T, p *bowlinetest.Plane) (stop func()) {
	t.Helper()
	m, err := controller.NewManager(p.RESTConfig(), controller.ManagerOptions{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	simulated.Add(m, simulated.Options{Nodes: 1})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// The nodes' program stops, and more pods are bound in the meantime. A new program recovers the running pods:
// no container is restarted, no address is assigned twice, and a container that should have ended in the
// meantime has.
func TestRestartedNodesRecoverTheirPods(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		create := func(pod *corev1.Pod) {
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		stop := runNodes(t, p)
		before := map[string]*corev1.Pod{}
		for i := range 20 {
			create(bound(fmt.Sprintf("web-%d", i), nil))
		}
		create(bound("work", map[string]string{simulated.Prefix + "complete-after": "1m"}))
		create(bound("crash", map[string]string{simulated.Prefix + "crash-after": "1h"}))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stop()
		for i := range 20 {
			name := fmt.Sprintf("web-%d", i)
			before[name], _ = pods.Get(t.Context(), "default", name)
			create(bound(fmt.Sprintf("a-late-one-%d", i), nil))
		}
		time.Sleep(10 * time.Minute)
		stop = runNodes(t, p)
		defer stop()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		page, err := pods.List(t.Context(), "default", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		addresses := map[string]string{}
		for _, pod := range page.Items {
			if other := addresses[pod.Status.PodIP]; other != "" || pod.Status.PodIP == "" {
				t.Errorf("pods %s and %s: got the address %q, want one of its own for each", pod.Name, other,
					pod.Status.PodIP)
			}
			addresses[pod.Status.PodIP] = pod.Name
			was := before[pod.Name]
			if was == nil {
				continue
			}
			is, before := pod.Status.ContainerStatuses[0], was.Status.ContainerStatuses[0]
			same := is.State == before.State || is.State.Running.StartedAt.Equal(&before.State.Running.StartedAt)
			if pod.Status.PodIP != was.Status.PodIP || !same || is.RestartCount != 0 {
				t.Errorf("pod %s: got status %+v, want %+v", pod.Name, pod.Status, was.Status)
			}
		}
		work, err := pods.Get(t.Context(), "default", "work")
		if err != nil || work.Status.Phase != corev1.PodSucceeded {
			t.Fatalf("pod work: got status %+v (%v), want it succeeded", work.Status, err)
		}
		ended := work.Status.ContainerStatuses[0].State.Terminated
		if ran := ended.FinishedAt.Sub(ended.StartedAt.Time); ran != time.Minute {
			t.Errorf("pod work: got a run time of %s, want 1m", ran)
		}
	})
}

// A client that binds pods need not check for room, and neither do two concurrent schedulers. Pods that do
// not fit fail, and pods that have ended leave room.
func TestNodesRejectPodsBeyondTheirCapacity(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		create := func(name string, annotations map[string]string) {
			pod := bound(name, annotations)
			requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("12")}
			pod.Spec.Containers[0].Resources.Requests = requests
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		phases := func() map[corev1.PodPhase]int {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			page, err := pods.List(t.Context(), "default", metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			all := map[corev1.PodPhase]int{}
			for _, pod := range page.Items {
				all[pod.Status.Phase]++
				if pod.Status.Phase == corev1.PodFailed &&
					(pod.Status.Reason != "OutOfcpu" || len(pod.Status.ContainerStatuses) > 0) {
					t.Errorf("failed pod: got status %+v, want OutOfcpu and no containers", pod.Status)
				}
			}
			return all
		}
		for i := range 10 {
			create(fmt.Sprintf("once-%d", i), map[string]string{simulated.Prefix + "complete-after": "1m"})
		}
		if got := phases(); got[corev1.PodRunning] != 2 || got[corev1.PodFailed] != 8 {
			t.Errorf("ten pods on a node with room for two: got phases %v, want 2 running and 8 failed", got)
		}
		time.Sleep(time.Minute)
		for i := range 3 {
			create(fmt.Sprintf("again-%d", i), nil)
		}
		if got := phases(); got[corev1.PodSucceeded] != 2 || got[corev1.PodRunning] != 2 || got[corev1.PodFailed] != 9 {
			t.Errorf("three more pods, after two succeeded: got phases %v, want 2 succeeded, 2 running, 9 failed", got)
		}
	}, nodes(1, 0))
}
