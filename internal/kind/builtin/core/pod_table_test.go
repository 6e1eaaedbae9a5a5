package core

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestPodStatusInOneLine compares the columns ready, status and restarts with kubectl's.
func TestPodStatusInOneLine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const sidecar = `initContainers: [{name: s, image: i, restartPolicy: Always}]`
	for _, r := range []struct{ rule, spec, status, ready, want, restarts string }{
		{"nothing yet", ``, `phase: Pending`, "0/1", "Pending", "0"},
		{"a reason counts more than a phase", ``, `{phase: Failed, reason: Evicted}`, "0/1", "Evicted", "0"},
		{"running", ``,
			`{phase: Running, containerStatuses: [{name: c, ready: true, restartCount: 2, state: {running: {}}}]}`,
			"1/1", "Running", "2"},
		{"when it last restarted", ``,
			`{phase: Running, containerStatuses: [{name: c, ready: true, restartCount: 2, state: {running: {}}, lastState: {terminated: {finishedAt: "2025-12-31T23:00:00Z"}}}]}`,
			"1/1", "Running", "2 (60m ago)"},
		{"waiting", ``,
			`{phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ImagePullBackOff}}}]}`, "0/1",
			"ImagePullBackOff", "0"},
		{"ended with a code", ``, `{phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 3}}}]}`,
			"0/1", "ExitCode:3", "0"},
		{"ended by a signal", ``, `{phase: Failed, containerStatuses: [{name: c, state: {terminated: {signal: 9}}}]}`,
			"0/1", "Signal:9", "0"},
		{"one of two completed", `containers: [{name: c, image: i}, {name: d, image: i}]`,
			`{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: c, state: {terminated: {reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}`,
			"1/2", "Running", "0"},
		{"one of two completed, and it is not ready", `containers: [{name: c, image: i}, {name: d, image: i}]`,
			`{phase: Running, containerStatuses: [{name: c, state: {terminated: {reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}`,
			"1/2", "NotReady", "0"},
		{"initializing", `initContainers: [{name: a, image: i}, {name: b, image: i}]`,
			`{phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {exitCode: 0}}}, {name: b, state: {running: {}}}]}`, "0/1", "Init:1/2", "0"},
		{"initialization failed", `initContainers: [{name: a, image: i}]`,
			`{phase: Pending, initContainerStatuses: [{name: a, restartCount: 1, state: {terminated: {exitCode: 1, reason: Error}}}]}`,
			"0/1", "Init:Error", "1"},
		{"initialization waits", `initContainers: [{name: a, image: i}]`,
			`{phase: Pending, initContainerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}}]}`,
			"0/1", "Init:CrashLoopBackOff", "0"},
		{"a sidecar counts", sidecar,
			`{phase: Running, initContainerStatuses: [{name: s, started: true, ready: true, restartCount: 3, state: {running: {}}}], containerStatuses: [{name: c, ready: true, state: {running: {}}}]}`,
			"2/2", "Running", "3"},
	} {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			pod := newPod(t, r.spec)
			overlay(t, r.status, &pod.Status)
			row := podRow(pod, now)
			if row[1] != r.ready || row[2] != r.want || row[3] != r.restarts {
				t.Errorf("%s: %v, want %s %s %s", r.rule, row[1:4], r.ready, r.want, r.restarts)
			}
		})
	}
}

func TestDeletedPodTerminates(t *testing.T) {
	t.Parallel()
	pod := newPod(t, ``)
	pod.DeletionTimestamp = new(metav1.Now())
	if got := podRow(pod, time.Now())[2]; got != "Terminating" {
		t.Errorf("status: %v, want Terminating", got)
	}
	pod.Status.Reason = "NodeLost"
	if got := podRow(pod, time.Now())[2]; got != "Unknown" {
		t.Errorf("status: %v, want Unknown", got)
	}
}

func TestReadinessGatesAreCounted(t *testing.T) {
	t.Parallel()
	pod := newPod(t, `readinessGates: [{conditionType: a}, {conditionType: b}]`)
	pod.Status.Conditions = []corev1.PodCondition{{Type: "a", Status: corev1.ConditionTrue}}
	if got := podRow(pod, time.Now())[8]; got != "1/2" {
		t.Errorf("readiness gates: %v, want 1/2", got)
	}
}

// TestPodStatusWarnings checks that a write of the status has only warnings about the status.
func TestPodStatusWarnings(t *testing.T) {
	t.Parallel()
	pod := newPod(t, `nodeSelector: {beta.kubernetes.io/os: linux}`)
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.1"}, {IP: "2001:DB8::1"}}
	pod.Status.HostIPs = []corev1.HostIP{{IP: "2001:DB8::2"}}
	want := []string{
		`status.podIPs[1].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`,
		`status.hostIPs[0].ip: IPv6 address "2001:DB8::2" should be in RFC 5952 canonical format ("2001:db8::2")`,
	}
	if got := podKind(object.NewCache(1)).Warnings(pod, pod, "status"); !slices.Equal(got, want) {
		t.Errorf("writing the status warns %q, want %q", got, want)
	}
}

// TestNodeStatusWriteHasNoSpecWarnings checks that a write of the status has no warnings about the spec.
func TestNodeStatusWriteHasNoSpecWarnings(t *testing.T) {
	t.Parallel()
	k := nodeKind(object.NewCache(1))
	node := &corev1.Node{Spec: corev1.NodeSpec{DoNotUseExternalID: "x"}}
	if got := k.Warnings(node, nil, ""); len(got) == 0 {
		t.Error("creating such a node does not warn")
	}
	if got := k.Warnings(node, nil, "status"); len(got) > 0 {
		t.Errorf("writing its status warns: %q", got)
	}
}
