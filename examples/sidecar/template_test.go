package sidecar_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/examples/sidecar"
)

// example decodes an object in the folder example.
func example[T any](t testing.TB, name string) *T {
	t.Helper()
	text, err := os.ReadFile("example/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	obj := new(T)
	if err := yaml.UnmarshalStrict(text, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func template(t testing.TB) *sidecar.Template {
	t.Helper()
	read, err := sidecar.ReadTemplate(example[corev1.ConfigMap](t, "envoy-initializer"))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// has fails the test unless the pod has its own container and the complete template.
func has(t testing.TB, pod *corev1.Pod) {
	t.Helper()
	var names []string
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "myapp-container envoy" {
		t.Fatalf("got containers %s", got)
	}
	mounts := pod.Spec.Containers[1].VolumeMounts
	if len(mounts) != 1 || mounts[0].Name != "envoy-conf" || mounts[0].MountPath != "/etc/envoy" {
		t.Errorf("got mounts %+v", mounts)
	}
	if v := pod.Spec.Volumes; len(v) != 1 || v[0].Name != "envoy-conf" || v[0].ConfigMap == nil ||
		v[0].ConfigMap.Name != "envoy" {
		t.Errorf("got volumes %+v", v)
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPatchesMakeTheSamePod checks that both patches are equivalent to Inject, and empty for a complete pod.
func TestPatchesMakeTheSamePod(t *testing.T) {
	t.Parallel()
	envoy := template(t)
	mounted := example[corev1.Pod](t, "myapp-pod")
	mounted.Spec.Volumes = []corev1.Volume{{Name: "scratch"}}
	half := envoy.Inject(mounted).DeepCopy()
	half.Spec.Volumes = half.Spec.Volumes[:1]
	for name, pod := range map[string]*corev1.Pod{
		"the documents'": example[corev1.Pod](t, "myapp-pod"), "with a volume": mounted, "without the volume": half,
	} {
		before := marshal(t, pod)
		want := envoy.Inject(pod)
		if string(marshal(t, pod)) != string(before) {
			t.Errorf("%s: the pod itself was changed", name)
		}
		merge, err := envoy.MergePatch(pod)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := strategicpatch.StrategicMergePatch(before, merge, &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		steps, err := envoy.JSONPatch(pod)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(steps)
		if err != nil {
			t.Fatal(err)
		}
		stepped, err := patch.Apply(before)
		if err != nil {
			t.Fatal(err)
		}
		for way, text := range map[string][]byte{"merged": merged, "patched": stepped} {
			var got corev1.Pod
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, &got); diff != "" {
				t.Errorf("%s, %s (-injected +%s):\n%s", name, way, way, diff)
			}
		}
		merge, err = envoy.MergePatch(want)
		steps, errSteps := envoy.JSONPatch(want)
		if err != nil || errSteps != nil || string(merge) != "{}" || steps != nil || envoy.Inject(want) != want {
			t.Errorf("%s: patches of a complete pod: got %s, %s, %v, %v", name, merge, steps, err, errSteps)
		}
	}
}

// TestDiffWithTheBareTemplateRemovesTheApplication compares with the patch of the documents: a diff between
// the user's pod and a pod that consists only of the template. MergePatch preserves the user's containers.
func TestDiffWithTheBareTemplateRemovesTheApplication(t *testing.T) {
	t.Parallel()
	pod, envoy := example[corev1.Pod](t, "myapp-pod"), template(t)
	bare := &corev1.Pod{Spec: corev1.PodSpec{Containers: envoy.Containers, Volumes: envoy.Volumes}}
	diff, err := strategicpatch.CreateTwoWayMergePatch(marshal(t, pod), marshal(t, bare), &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(diff), `{"$patch":"delete","name":"myapp-container"}`) ||
		!strings.Contains(string(diff), `"name":null`) {
		t.Errorf("the diff %s does not remove the application's container and the pod's name", diff)
	}
	merge, err := envoy.MergePatch(pod)
	if err != nil || strings.Contains(string(merge), "$patch") || strings.Contains(string(merge), "null") {
		t.Errorf("MergePatch returned %s, %v", merge, err)
	}
}

// TestOwnContainerOfThatNameStays checks that a user's own container of the same name remains.
func TestOwnContainerOfThatNameStays(t *testing.T) {
	t.Parallel()
	pod := example[corev1.Pod](t, "myapp-pod")
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "envoy", Image: "mine"})
	got := template(t).Inject(pod)
	if len(got.Spec.Containers) != 2 || got.Spec.Containers[1].Image != "mine" || len(got.Spec.Volumes) != 1 {
		t.Errorf("got the spec %+v", got.Spec)
	}
}

func TestInvalidTemplates(t *testing.T) {
	t.Parallel()
	for config, text := range map[string]string{
		"containers: [{name: envoy, imagee: x}]": `unknown field "imagee"`,
		"container: [{name: envoy}]":             `unknown field "container"`,
		"volumes: []":                            "has no containers",
		"containers: [{image: x}]":               "containers[0] has no name",
		"containers: [{name: a}]\nvolumes: [{}]": "volumes[0] has no name",
		"// none":                                "cannot unmarshal string",
		"containers:\n- name: a\n\timage: b":     "line 3",
	} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: sidecar.ConfigMap},
			Data: map[string]string{sidecar.Key: config}}
		_, err := sidecar.ReadTemplate(cm)
		if err == nil || !strings.HasPrefix(err.Error(), "config map default/envoy-initializer, config: ") ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("template %q: got error %v", config, err)
		}
	}
	if _, err := sidecar.ReadTemplate(&corev1.ConfigMap{}); err == nil {
		t.Error("ReadTemplate accepted a ConfigMap without a template")
	}
}

// TestWants checks that "true" requests the container, any other value declines it, and the
// options decide about pods without the annotation.
func TestWants(t *testing.T) {
	t.Parallel()
	all, some := sidecar.Options{}, sidecar.Options{OnlyAnnotated: true}
	yes, no := map[string]string{sidecar.Annotation: "true"}, map[string]string{sidecar.Annotation: "false"}
	if !all.Wants(nil) || some.Wants(nil) || !all.Wants(yes) || !some.Wants(yes) || all.Wants(no) || some.Wants(no) {
		t.Error(all.Wants(nil), some.Wants(nil), all.Wants(yes), some.Wants(yes), all.Wants(no), some.Wants(no))
	}
	if annotated := example[corev1.Pod](t, "annotated-pod"); !some.Wants(annotated.Annotations) {
		t.Errorf("got annotations %v", annotated.Annotations)
	}
}
