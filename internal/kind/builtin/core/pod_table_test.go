package core

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/object"
)

// TestPodStatusInOneLine compares with what kubectl shows: ready, status and restarts.
func TestPodStatusInOneLine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const sidecar = `initContainers: [{name: s, image: i, restartPolicy: Always}]`
	for _, r := range []struct{ rule, spec, status, ready, want, restarts string }{
		{"nothing yet", ``, `phase: Pending`, "0/1", "Pending", "0"},
		{"a reason counts more than a phase", ``, `{phase: Failed, reason: Evicted}`, "0/1", "Evicted", "0"},
		{"running", ``, `{phase: Running, containerStatuses: [{name: c, ready: true, restartCount: 2, state: {running: {}}}]}`, "1/1", "Running", "2"},
		{"when it last restarted", ``, `{phase: Running, containerStatuses: [{name: c, ready: true, restartCount: 2, state: {running: {}}, lastState: {terminated: {finishedAt: "2025-12-31T23:00:00Z"}}}]}`,
			"1/1", "Running", "2 (60m ago)"},
		{"waiting", ``, `{phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ImagePullBackOff}}}]}`, "0/1", "ImagePullBackOff", "0"},
		{"ended with a code", ``, `{phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 3}}}]}`, "0/1", "ExitCode:3", "0"},
		{"ended by a signal", ``, `{phase: Failed, containerStatuses: [{name: c, state: {terminated: {signal: 9}}}]}`, "0/1", "Signal:9", "0"},
		{"one of two completed", `containers: [{name: c, image: i}, {name: d, image: i}]`,
			`{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: c, state: {terminated: {reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}`,
			"1/2", "Running", "0"},
		{"one of two completed, and it is not ready", `containers: [{name: c, image: i}, {name: d, image: i}]`,
			`{phase: Running, containerStatuses: [{name: c, state: {terminated: {reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}`,
			"1/2", "NotReady", "0"},
		{"initializing", `initContainers: [{name: a, image: i}, {name: b, image: i}]`,
			`{phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {exitCode: 0}}}, {name: b, state: {running: {}}}]}`, "0/1", "Init:1/2", "0"},
		{"initialization failed", `initContainers: [{name: a, image: i}]`, `{phase: Pending, initContainerStatuses: [{name: a, restartCount: 1, state: {terminated: {exitCode: 1, reason: Error}}}]}`,
			"0/1", "Init:Error", "1"},
		{"initialization waits", `initContainers: [{name: a, image: i}]`, `{phase: Pending, initContainerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}}]}`,
			"0/1", "Init:CrashLoopBackOff", "0"},
		{"a sidecar counts", sidecar, `{phase: Running, initContainerStatuses: [{name: s, started: true, ready: true, restartCount: 3, state: {running: {}}}], containerStatuses: [{name: c, ready: true, state: {running: {}}}]}`,
			"2/2", "Running", "3"},
	} {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			pod := podRule{spec: r.spec}.pod(t)
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
	pod := podRule{}.pod(t)
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
	pod := podRule{spec: `readinessGates: [{conditionType: a}, {conditionType: b}]`}.pod(t)
	pod.Status.Conditions = []corev1.PodCondition{{Type: "a", Status: corev1.ConditionTrue}}
	if got := podRow(pod, time.Now())[8]; got != "1/2" {
		t.Errorf("readiness gates: %v, want 1/2", got)
	}
}

func TestPodWarnings(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ source, spec, container, want string }{
		{"GetWarningsForPod, nodeSelector", `nodeSelector: {beta.kubernetes.io/os: linux}`, ``,
			`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"Convert_v1_Pod_To_core_Pod: it is 1", `terminationGracePeriodSeconds: -1`, ``, ``},
		{"topologySpreadConstraints", `topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]`, ``,
			`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`},
		{"gitRepo", `volumes: [{name: v, gitRepo: {repository: r}}]`, ``, `spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+`},
		{"hostAliases", `hostAliases: [{ip: 1.1.1.1}, {ip: 1.1.1.1}]`, ``, `spec.hostAliases[1].ip: duplicate ip "1.1.1.1"`},
		{"imagePullSecrets", `imagePullSecrets: [{name: a}, {name: a}]`, ``, `spec.imagePullSecrets[1].name: duplicate name "a"`},
		{"fractional bytes", ``, `resources: {requests: {memory: 100m}}`,
			`spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer`},
		{"env", ``, `env: [{name: A, value: b}, {name: A, value: c}]`,
			`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`},
		{"ports", ``, `ports: [{containerPort: 80}, {containerPort: 80}]`,
			`spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]`},
		{"podAffinity", `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z}]}}`, ``,
			`spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod`},
		{"nothing to warn of", ``, ``, ``},
	} {
		pod := podRule{spec: r.spec, container: r.container}.pod(t)
		got := podWarnings(pod, nil)
		if r.want == "" && len(got) > 0 || r.want != "" && (len(got) != 1 || got[0] != r.want) {
			t.Errorf("%s: %q, want %q", r.source, got, r.want)
		}
		if updated := podWarnings(pod, pod); len(updated) > 0 {
			t.Errorf("%s: an update warns: %q", r.source, updated)
		}
	}
}

// TestPodStatusWarnings: a write of the status gets no others.
func TestPodStatusWarnings(t *testing.T) {
	t.Parallel()
	pod := podRule{spec: `nodeSelector: {beta.kubernetes.io/os: linux}`}.pod(t)
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.1"}, {IP: "2001:DB8::1"}}
	pod.Status.HostIPs = []corev1.HostIP{{IP: "2001:DB8::2"}}
	want := []string{
		`status.podIPs[1].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`,
		`status.hostIPs[0].ip: IPv6 address "2001:DB8::2" should be in RFC 5952 canonical format ("2001:db8::2")`,
	}
	if got := podKind(object.NewCache(1)).Warnings(pod, pod, "status"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAWriteOfANodesStatusDoesNotWarn of what the node declares.
func TestAWriteOfANodesStatusDoesNotWarn(t *testing.T) {
	t.Parallel()
	k := nodeKind(object.NewCache(1))
	node := &corev1.Node{Spec: corev1.NodeSpec{DoNotUseExternalID: "x"}}
	if got := k.Warnings(node, nil, ""); len(got) == 0 {
		t.Error("its create does not warn")
	}
	if got := k.Warnings(node, nil, "status"); len(got) > 0 {
		t.Errorf("its status: %q", got)
	}
}

func TestTemplateRules(t *testing.T) {
	t.Parallel()
	path := field.NewPath("spec", "template")
	for _, r := range []struct{ source, template, want string }{
		{"ValidatePodTemplateSpec", `metadata: {labels: {a: "b c"}}`, `spec.template.labels: Invalid value: "b c": ` + labelValueError},
		{"ValidatePodTemplateSpec", `spec: {ephemeralContainers: [{name: e, image: i}]}`,
			`spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template`},
		{"validateContainerOnlyForPod", `spec: {containers: [{name: c, image: " "}]}`, ``},
		{"validatePodHostNetworkDeps", `spec: {hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}`, ``},
		{"validatePodHostNetworkDeps", `spec: {hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 81}]}]}`,
			"spec.template.spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"},
	} {
		template := corev1.PodTemplateSpec{Spec: validPodToChange().Spec}
		overlay(t, r.template, &template)
		DefaultPodTemplate(&template)
		if got := text(ValidatePodTemplate(&template, nil, path)); got != r.want {
			t.Errorf("%s %s:\n got %s\nwant %s", r.source, r.template, got, r.want)
		}
	}
}
