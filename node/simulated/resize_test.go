package simulated_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/node/simulated"
)

// requesting returns a pod on node-0 that always restarts and requests an amount of CPU.
func requesting(name, cpu string) *corev1.Pod {
	pod := bound(name, nil)
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return pod
}

func create(t *testing.T, p *bowlinetest.Plane, pod *corev1.Pod) {
	t.Helper()
	if _, err := bowlinetest.Client[*corev1.Pod](t, p).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// resize requests an amount of CPU for the container of a pod.
func resize(t *testing.T, p *bowlinetest.Plane, name, cpu string) {
	t.Helper()
	body := fmt.Appendf(nil, `{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
	if _, err := bowlinetest.Client[*corev1.Pod](t, p).Patch(t.Context(), "default", name, "resize",
		types.StrategicMergePatchType, body, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// show returns the CPU that a pod requests, that its node has allocated, and that its container and the whole pod have,
// the container's restarts, the observed generation, and the conditions about resizes.
func show(t *testing.T, p *bowlinetest.Plane, name string) string {
	t.Helper()
	pod, err := bowlinetest.Client[*corev1.Pod](t, p).Get(t.Context(), "default", name)
	if err != nil || len(pod.Status.ContainerStatuses) != 1 {
		t.Fatalf("got %+v (%v), want a pod with a status", pod, err)
	}
	status, c := &pod.Status, &pod.Status.ContainerStatuses[0]
	if c.Resources == nil || status.Resources == nil {
		t.Fatalf("got %+v, want resources", status)
	}
	shown := fmt.Sprintf("wants %s: allocated %s/%s, has %s/%s, %d restarts, generation %d",
		pod.Spec.Containers[0].Resources.Requests.Cpu(), c.AllocatedResources.Cpu(), status.AllocatedResources.Cpu(),
		c.Resources.Requests.Cpu(), status.Resources.Requests.Cpu(), c.RestartCount, status.ObservedGeneration)
	for _, condition := range status.Conditions {
		if condition.Type == corev1.PodResizePending || condition.Type == corev1.PodResizeInProgress {
			shown += fmt.Sprintf("; %s %s %d %s", condition.Type, condition.Reason, condition.ObservedGeneration,
				condition.Message)
		}
	}
	return shown
}

func wantShown(t *testing.T, p *bowlinetest.Plane, name, want string) {
	t.Helper()
	if got := show(t, p, name); got != want {
		t.Errorf("%s: got  %s,\n\twant %s", name, got, want)
	}
}

// resizeEvents returns the reasons of the events about the resizes and restarts of a pod, in alphabetical order.
func resizeEvents(t *testing.T, p *bowlinetest.Plane, name string) string {
	t.Helper()
	time.Sleep(time.Second) // the recorder writes events after a short delay
	synctest.Wait()
	page, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, e := range page.Items {
		if e.InvolvedObject.Name == name && (strings.HasPrefix(e.Reason, "Resize") || e.Reason == "Killing") {
			reasons = append(reasons, e.Reason)
		}
	}
	slices.Sort(reasons)
	return strings.Join(reasons, " ")
}

func TestResizesApplyAtOnce(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		create(t, p, requesting("web", "100m"))
		wantShown(t, p, "web", "wants 100m: allocated 100m/100m, has 100m/100m, 0 restarts, generation 1")
		resize(t, p, "web", "150m")
		wantShown(t, p, "web", "wants 150m: allocated 150m/150m, has 150m/150m, 0 restarts, generation 2")
		if got := resizeEvents(t, p, "web"); got != "ResizeCompleted ResizeStarted" {
			t.Errorf("got events %s, want ResizeCompleted ResizeStarted", got)
		}
	}, nodes(1, 0))
}

// A container with the resize policy RestartContainer has its old resources until it has ended, and then restarts
// without a back-off, whatever the restart policy of the pod.
func TestResizesRestartContainers(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pod := requesting("web", "100m")
		pod.Annotations = map[string]string{simulated.Prefix + "stop": "10s"}
		pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
			{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer},
		}
		create(t, p, pod)
		for round, cpu := range []string{"150m", "50m"} {
			before := []string{"100m", "150m"}[round]
			resize(t, p, "web", cpu)
			wantShown(t, p, "web", fmt.Sprintf("wants %[1]s: allocated %[1]s/%[1]s, has %[2]s/%[1]s, %[3]d restarts, "+
				"generation %[4]d; PodResizeInProgress  %[4]d ", cpu, before, round, round+2))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			wantShown(t, p, "web", fmt.Sprintf("wants %[1]s: allocated %[1]s/%[1]s, has %[1]s/%[1]s, %[2]d restarts, "+
				"generation %[3]d", cpu, round+1, round+2))
		}
	}, nodes(1, 0))
}

// A resize is deferred while other pods use the node, and allocated when one of them ends or shrinks.
func TestResizesWaitForRoom(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(t *testing.T, p *bowlinetest.Plane){
		"deletion": func(t *testing.T, p *bowlinetest.Plane) {
			if err := bowlinetest.Client[*corev1.Pod](t, p).Delete(t.Context(), "default", "other",
				metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"shrinking": func(t *testing.T, p *bowlinetest.Plane) { resize(t, p, "other", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				create(t, p, requesting("web", "1"))
				create(t, p, requesting("other", "30"))
				resize(t, p, "web", "3")
				wantShown(t, p, "web", "wants 3: allocated 1/1, has 1/1, 0 restarts, generation 2; PodResizePending "+
					"Deferred 2 Node didn't have enough resource: cpu, requested: 3000, used: 30000, capacity: 32000")
				resize(t, p, "web", "1")
				wantShown(t, p, "web", "wants 1: allocated 1/1, has 1/1, 0 restarts, generation 3")
				resize(t, p, "web", "3")
				release(t, p)
				synctest.Wait()
				wantShown(t, p, "web", "wants 3: allocated 3/3, has 3/3, 0 restarts, generation 4")
				want := "ResizeCompleted ResizeDeferred ResizeDeferred ResizeStarted"
				if got := resizeEvents(t, p, "web"); got != want {
					t.Errorf("got events %s, want %s", got, want)
				}
			}, nodes(1, 0))
		})
	}
}

// A new program for the nodes recovers what was allocated from the status of the pods.
func TestDeferredResizesSurviveARestart(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		stop := runNodes(t, p)
		synctest.Wait()
		create(t, p, requesting("web", "1"))
		create(t, p, requesting("other", "30"))
		resize(t, p, "web", "3")
		before := show(t, p, "web")
		stop()
		stop = runNodes(t, p)
		defer stop()
		synctest.Wait()
		wantShown(t, p, "web", before)
		resize(t, p, "other", "1")
		wantShown(t, p, "web", "wants 3: allocated 3/3, has 3/3, 0 restarts, generation 2")
	})
}

// An ephemeral container runs until its pod ends, or as long as its simple command, and is never restarted.
func TestEphemeralContainersAreReported(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		create(t, p, requesting("web", "1"))
		body := `{"spec":{"ephemeralContainers":[{"name":"debug","image":"busybox"},
			{"name":"short","image":"busybox","command":["sleep","1"]}]}}`
		if _, err := pods.Patch(t.Context(), "default", "web", "ephemeralcontainers", types.StrategicMergePatchType,
			[]byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"debug running restarts 0 short running restarts 0", "debug running restarts 0 short ended 0 restarts 0",
		} {
			synctest.Wait()
			pod, err := pods.Get(t.Context(), "default", "web")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range pod.Status.EphemeralContainerStatuses {
				state := "waiting"
				if c.State.Running != nil {
					state = "running"
				} else if c.State.Terminated != nil {
					state = fmt.Sprintf("ended %d", c.State.Terminated.ExitCode)
				}
				got = append(got, fmt.Sprintf("%s %s restarts %d", c.Name, state, c.RestartCount))
				if c.Ready || c.Started != nil {
					t.Errorf("%s: got ready %t, started %v, want neither", c.Name, c.Ready, c.Started)
				}
			}
			if all := strings.Join(got, " "); all != want || pod.Status.Phase != corev1.PodRunning {
				t.Errorf("got %s, %s, want %s, Running", all, pod.Status.Phase, want)
			}
			time.Sleep(time.Hour)
		}
		if err := pods.Delete(t.Context(), "default", "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		bowlinetest.WaitForDeletion[*corev1.Pod](t, p, "default", "web")
	}, nodes(1, 0))
}
