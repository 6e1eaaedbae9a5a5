package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestPodWarnings(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ source, spec, container, want string }{
		{"GetWarningsForPod, nodeSelector", `nodeSelector: {beta.kubernetes.io/os: linux}`, ``,
			`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"Convert_v1_Pod_To_core_Pod: it is 1", `terminationGracePeriodSeconds: -1`, ``, ``},
		{"topologySpreadConstraints",
			`topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]`, ``,
			`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`},
		{"gitRepo", `volumes: [{name: v, gitRepo: {repository: r}}]`, ``,
			`spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+`},
		{"hostAliases", `hostAliases: [{ip: 1.1.1.1}, {ip: 1.1.1.1}]`, ``,
			`spec.hostAliases[1].ip: duplicate ip "1.1.1.1"`},
		{"imagePullSecrets", `imagePullSecrets: [{name: a}, {name: a}]`, ``,
			`spec.imagePullSecrets[1].name: duplicate name "a"`},
		{"fractional bytes", ``, `resources: {requests: {memory: 100m}}`,
			`spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer`},
		{"env", ``, `env: [{name: A, value: b}, {name: A, value: c}]`,
			`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`},
		{"ports", ``, `ports: [{containerPort: 80}, {containerPort: 80}]`,
			`spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]`},
		{"podAffinity", `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z}]}}`,
			``,
			`spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod`},
		{"nothing to warn of", ``, ``, ``},
	} {
		pod := podRule{spec: r.spec, container: r.container}.pod(t)
		got := Warnings(pod, nil)
		if r.want == "" && len(got) > 0 || r.want != "" && (len(got) != 1 || got[0] != r.want) {
			t.Errorf("%s: %q, want %q", r.source, got, r.want)
		}
		if updated := Warnings(pod, pod); len(updated) > 0 {
			t.Errorf("%s: an update warns: %q", r.source, updated)
		}
	}
}

func TestTemplateRules(t *testing.T) {
	t.Parallel()
	path := field.NewPath("spec", "template")
	for _, r := range []struct{ source, template, want string }{
		{"ValidatePodTemplateSpec", `metadata: {labels: {a: "b c"}}`,
			`spec.template.labels: Invalid value: "b c": ` + labelValueError},
		{"ValidatePodTemplateSpec", `spec: {ephemeralContainers: [{name: e, image: i}]}`,
			`spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template`},
		{"validateContainerOnlyForPod", `spec: {containers: [{name: c, image: " "}]}`, ``},
		{"validatePodHostNetworkDeps",
			`spec: {hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}`, ``},
		{"validatePodHostNetworkDeps",
			`spec: {hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 81}]}]}`,
			"spec.template.spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"},
	} {
		template := corev1.PodTemplateSpec{Spec: validPodToChange().Spec}
		overlay(t, r.template, &template)
		DefaultTemplate(&template)
		if got := text(ValidateTemplate(&template, nil, path)); got != r.want {
			t.Errorf("%s %s:\n got %s\nwant %s", r.source, r.template, got, r.want)
		}
	}
}
