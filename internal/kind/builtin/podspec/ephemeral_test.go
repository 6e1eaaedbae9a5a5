package podspec

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const debugger = `ephemeralContainers: [{name: e, image: busybox, targetContainerName: c, stdin: true, tty: true}]`

// subresourceRule is a rule for writes of a subresource that contains the spec.
type subresourceRule struct {
	rule, source string
	// was and is are YAML that is merged into the spec of a valid pod before the write, and into that spec by the
	// write.
	was, is string
	want    string
}

func checkSubresource(t *testing.T, sub string, rules []subresourceRule) {
	t.Parallel()
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			old := podRule{spec: r.was}.pod(t)
			pod := old.DeepCopy()
			overlay(t, r.is, &pod.Spec)
			Default(pod)
			Prepare(pod, old, sub)
			if got := text(Validate(pod, old, sub)); got != r.want {
				t.Errorf("%s:\n got %s\nwant %s", r.source, got, r.want)
			}
		})
	}
}

func TestEphemeralContainerRules(t *testing.T) {
	const source = "ValidatePodEphemeralContainersUpdate"
	const second = `ephemeralContainers: [{name: f, image: i}, {name: e, image: busybox, targetContainerName: c, stdin: true, tty: true}]`
	checkSubresource(t, "ephemeralcontainers", []subresourceRule{
		{"one is added", source, ``, debugger, ``},
		{"one is added before another", source, debugger, second, ``},
		{"nothing changes", source, debugger, debugger, ``},
		{"one is removed", source, debugger, `ephemeralContainers: null`,
			"spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be removed\n"},
		{"one is changed", source, `ephemeralContainers: [{name: e, image: i}]`,
			`ephemeralContainers: [{name: e, image: j, imagePullPolicy: Always}]`,
			"spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be changed\n" +
				"@@ -1,6 +1,6 @@\n {\n  \"Name\": \"e\",\n- \"Image\": \"i\",\n+ \"Image\": \"j\",\n  \"Command\": null,\n" +
				"  \"Args\": null,\n  \"WorkingDir\": \"\",\n"},
		{"the name is a container's", "validateEphemeralContainers", ``, `ephemeralContainers: [{name: c, image: i}]`,
			`spec.ephemeralContainers[0].name: Duplicate value: "c"`},
		{"the name is an init container's", "validateEphemeralContainers", `initContainers: [{name: a, image: i}]`,
			`ephemeralContainers: [{name: a, image: i}]`, `spec.ephemeralContainers[0].name: Duplicate value: "a"`},
		{"two have one name", "validateEphemeralContainers", ``,
			`ephemeralContainers: [{name: e, image: i}, {name: e, image: i}]`,
			`spec.ephemeralContainers[1].name: Duplicate value: "e"`},
		{"the target does not exist", "validateEphemeralContainers", ``,
			`ephemeralContainers: [{name: e, image: i, targetContainerName: x}]`,
			`spec.ephemeralContainers[0].targetContainerName: Not found: "x"`},
		{"the target is ephemeral", "validateEphemeralContainers", debugger,
			second[:len(second)-1] + `, {name: g, image: i, targetContainerName: e}]`,
			`spec.ephemeralContainers[2].targetContainerName: Not found: "e"`},
		{"resources are set", "validateFieldAllowList", ``,
			`ephemeralContainers: [{name: e, image: i, resources: {requests: {cpu: "1"}}, ports: [{containerPort: 1}]}]`,
			`[spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container, spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container]`},
		{"a part of a volume is mounted", "validateEphemeralContainers", `volumes: [{name: v, emptyDir: {}}]`,
			`ephemeralContainers: [{name: e, image: i, volumeMounts: [{name: v, mountPath: /v, subPath: a}]}]`,
			`spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container`},
		{"an image has a space", "validateContainerOnlyForPod", ``, `ephemeralContainers: [{name: e, image: "i "}]`,
			`spec.ephemeralContainers[0].image: Invalid value: "i ": must not have leading or trailing whitespace`},
		{"other fields are dropped", "dropNonEphemeralContainerUpdates", ``,
			`{nodeName: n, containers: [{name: d, image: i}], ephemeralContainers: [{name: e, image: i}]}`, ``},
	})
}

func TestEphemeralContainersOfStaticPod(t *testing.T) {
	t.Parallel()
	old := podRule{}.pod(t)
	old.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	pod := old.DeepCopy()
	overlay(t, debugger, &pod.Spec)
	want := `[]: Forbidden: static pods do not support ephemeral containers`
	if got := text(Validate(pod, old, "ephemeralcontainers")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEphemeralWriteRestoresOtherFields checks that a write of pods/ephemeralcontainers changes neither other fields of
// the spec nor the metadata, and that only ephemeral containers increase the generation.
func TestEphemeralWriteRestoresOtherFields(t *testing.T) {
	t.Parallel()
	old := podRule{}.pod(t)
	old.Generation = 3
	old.Finalizers = []string{"a/b"}
	pod := old.DeepCopy()
	pod.Labels, pod.Annotations, pod.Finalizers = map[string]string{"x": "y"}, map[string]string{"x": "y"}, nil
	pod.Spec.NodeName, pod.Spec.Containers[0].Image = "n", "j"
	pod.Generation = 4 // as the server counts it
	same := pod.DeepCopy()
	Prepare(same, old, "ephemeralcontainers")
	if same.Generation != 3 || same.Spec.NodeName != "" || same.Spec.Containers[0].Image != "i" {
		t.Errorf("generation %d, node %q, image %q; want 3, none and i", same.Generation, same.Spec.NodeName,
			same.Spec.Containers[0].Image)
	}
	if same.Labels["x"] != "" || same.Labels["app"] != "a" || same.Annotations["x"] != "" || len(same.Finalizers) != 1 {
		t.Errorf("labels %v, annotations %v, finalizers %v", same.Labels, same.Annotations, same.Finalizers)
	}
	overlay(t, debugger, &pod.Spec)
	Prepare(pod, old, "ephemeralcontainers")
	if pod.Generation != 4 || len(pod.Spec.EphemeralContainers) != 1 {
		t.Errorf("generation %d with %d ephemeral containers, want 4 with 1", pod.Generation,
			len(pod.Spec.EphemeralContainers))
	}
}

// TestManyEphemeralContainersTakeLittleTime changes as many containers as fit into a request.
func TestManyEphemeralContainersTakeLittleTime(t *testing.T) {
	t.Parallel()
	old := podRule{}.pod(t)
	for i := range 20_000 {
		var c corev1.EphemeralContainer
		c.Name, c.Image = fmt.Sprintf("e%d", i), "i"
		old.Spec.EphemeralContainers = append(old.Spec.EphemeralContainers, c)
	}
	args := make([]string, 30_000)
	for i := range args {
		args[i] = fmt.Sprint(i)
	}
	old.Spec.EphemeralContainers[0].Args = args
	Default(old)
	pod := old.DeepCopy()
	for i := range pod.Spec.EphemeralContainers {
		pod.Spec.EphemeralContainers[i].Image = "j"
	}
	for i := 0; i < len(args); i += 2 {
		pod.Spec.EphemeralContainers[0].Args[i] = "x"
	}
	start := time.Now()
	errs := Validate(pod, old, "ephemeralcontainers")
	if took := time.Since(start); took > 10*time.Second { // one second, on a busy machine
		t.Errorf("validation took %s", took)
	}
	if len(errs) != len(pod.Spec.EphemeralContainers) || strings.Contains(errs[0].Detail, "@@") ||
		!strings.Contains(errs[1].Detail, "@@") {
		t.Errorf("%d errors, the first two: %.200s, %.200s", len(errs), errs[0], errs[1])
	}
}
