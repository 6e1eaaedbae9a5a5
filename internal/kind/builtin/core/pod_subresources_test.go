package core

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch"
)

// patched returns the pod that a strategic merge patch makes of another, decoded like a request.
func patched(t *testing.T, k kind.Kind, pod *corev1.Pod, body string) *corev1.Pod {
	t.Helper()
	form := object.Form{APIVersion: "v1"}
	before, err := k.Encode(form, pod)
	if err != nil {
		t.Fatal(err)
	}
	after, strict, err := patch.Apply(types.StrategicMergePatchType, before, []byte(body), k.Prototype("v1"), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	next, strict, err := k.DecodeRequest(form, after, false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return next.(*corev1.Pod)
}

// write takes a pod through preparation and validation, as the server does for an update of a subresource.
func write(t *testing.T, k kind.Kind, pod, old *corev1.Pod, sub string) {
	t.Helper()
	k.Prepare(pod, old, sub)
	if errs := k.Validate(t.Context(), pod, old, sub); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if warnings := k.Warnings(pod, old, sub); len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
}

// TestDebugContainerIsAdded sends the patches of two runs of kubectl debug. The second lists only its own container.
func TestDebugContainerIsAdded(t *testing.T) {
	t.Parallel()
	k := podKind(object.NewCache(1 << 20))
	pod := newPod(t, `nodeName: node`)
	pod.Generation, pod.Status.Phase = 1, corev1.PodRunning
	for _, body := range []string{
		`{"spec": {"ephemeralContainers": [{"name": "debugger-a", "image": "busybox", "stdin": true, "tty": true, "targetContainerName": "c", "resources": {}}]}}`,
		`{"status": {"phase": "Failed"}, "metadata": {"labels": {"x": "y"}}, "spec": {"nodeName": "m", "ephemeralContainers": [{"name": "debugger-b", "image": "busybox:1"}]}}`,
	} {
		next := patched(t, k, pod, body)
		write(t, k, next, pod, "ephemeralcontainers")
		pod = next
	}
	var names []string
	for i := range pod.Spec.EphemeralContainers {
		c := &pod.Spec.EphemeralContainers[i]
		names = append(names, c.Name)
		if c.TerminationMessagePolicy != corev1.TerminationMessageReadFile || c.ImagePullPolicy == "" {
			t.Errorf("the defaults of %s are missing", c.Name)
		}
	}
	slices.Sort(names)
	if want := []string{"debugger-a", "debugger-b"}; !slices.Equal(names, want) {
		t.Errorf("ephemeral containers %q, want %q", names, want)
	}
	if pod.Spec.NodeName != "node" || pod.Status.Phase != corev1.PodRunning || pod.Labels["x"] != "" ||
		pod.Generation != 3 {
		t.Errorf("node %s, phase %s, labels %v, generation %d; want node, Running, no x, 3", pod.Spec.NodeName,
			pod.Status.Phase, pod.Labels, pod.Generation)
	}
}

// TestPodIsResized sends the patch in the documentation of in-place resizing.
func TestPodIsResized(t *testing.T) {
	t.Parallel()
	k := podKind(object.NewCache(1 << 20))
	old := newPod(t, `containers: [{name: c, image: i, resources: {requests: {cpu: 700m}, limits: {cpu: 700m}}}]`)
	old.Generation = 1
	next := patched(t, k, old,
		`{"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "800m"}, "limits": {"cpu": "800m"}}}]}}`)
	write(t, k, next, old, "resize")
	if got := next.Spec.Containers[0].Resources.Limits.Cpu().String(); got != "800m" || next.Generation != 2 {
		t.Errorf("CPU %s, generation %d; want 800m, 2", got, next.Generation)
	}
	if errs := k.Validate(t.Context(), next, old, ""); len(errs) == 0 {
		t.Error("the pod itself can be updated with other resources")
	}
}

// TestStatusWriteKeepsEphemeralContainers checks a kubelet that writes the status without the newest containers.
func TestStatusWriteKeepsEphemeralContainers(t *testing.T) {
	t.Parallel()
	k := podKind(object.NewCache(1 << 20))
	old := newPod(t, `ephemeralContainers: [{name: e, image: i}]`)
	pod := newPod(t, `containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]`)
	pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "e"}}
	pod.Status.QOSClass = old.Status.QOSClass
	k.Prepare(pod, old, "status")
	if len(pod.Spec.EphemeralContainers) != 1 || len(pod.Status.EphemeralContainerStatuses) != 1 ||
		len(pod.Spec.Containers[0].Resources.Requests) != 0 {
		t.Errorf("spec %+v, statuses %+v", pod.Spec, pod.Status.EphemeralContainerStatuses)
	}
}

func TestVerbsOfPodSubresources(t *testing.T) {
	t.Parallel()
	info := podKind(object.NewCache(1)).Info()
	for _, name := range []string{"ephemeralcontainers", "resize"} {
		sub := info.Subresource(name)
		if sub == nil || !slices.Equal(sub.Verbs, []string{"get", "patch", "update"}) || !sub.Kind.Empty() {
			t.Errorf("%s: %+v", name, sub)
		}
	}
}
