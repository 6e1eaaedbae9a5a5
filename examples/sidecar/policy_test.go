package sidecar_test

import (
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/sidecar"
)

// podsUnderPolicy starts a plane with the policy of the example and its binding, and returns a client of its pods.
func podsUnderPolicy(t *testing.T) client.Resource[*corev1.Pod] {
	t.Helper()
	text, err := os.ReadFile("example/mutatingadmissionpolicy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := &admissionregistrationv1.MutatingAdmissionPolicy{}
	b := &admissionregistrationv1.MutatingAdmissionPolicyBinding{}
	first, second, _ := strings.Cut(string(text), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(first), p); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(second), b); err != nil {
		t.Fatal(err)
	}
	plane := bowlinetest.Start(t)
	create(t, plane, p)
	create(t, plane, b)
	return bowlinetest.Client[*corev1.Pod](t, plane)
}

// TestPodsGetTheirSidecarByPolicy creates the pod of the documents under the policy. The pod gets the container of the
// template, and a second apply does not change it.
func TestPodsGetTheirSidecarByPolicy(t *testing.T) {
	t.Parallel()
	pods := podsUnderPolicy(t)
	apply := metav1.ApplyOptions{FieldManager: "me"}
	made, err := pods.ApplyObject(t.Context(), in(example[corev1.Pod](t, "myapp-pod")), apply)
	if err != nil {
		t.Fatal(err)
	}
	has(t, made)
	second, err := pods.ApplyObject(t.Context(), in(example[corev1.Pod](t, "myapp-pod")), apply)
	if err != nil || second.ResourceVersion != made.ResourceVersion {
		t.Errorf("the second apply changed the pod: got %v, want resourceVersion %s: %v", second, made.ResourceVersion,
			err)
	}
	got, want := made.Spec.Containers[1].DeepCopy(), template(t).Containers[0].DeepCopy()
	for _, c := range []*corev1.Container{got, want} { // without the defaults and what other plugins add
		c.TerminationMessagePath, c.TerminationMessagePolicy, c.ImagePullPolicy = "", "", ""
	}
	if !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got %+v, want the template %+v", got, want)
	}
}

// TestPolicyKeepsWhatPodsHave checks that the policy adds the container only to pods that lack it and do not decline,
// and keeps their volumes.
func TestPolicyKeepsWhatPodsHave(t *testing.T) {
	t.Parallel()
	pods := podsUnderPolicy(t)
	volume := func(name string) corev1.Volume { return corev1.Volume{Name: name} }
	for name, c := range map[string]struct {
		change              func(*corev1.Pod)
		containers, volumes string
	}{
		"plain":   {func(*corev1.Pod) {}, "myapp-container envoy", "envoy-conf"},
		"volumes": {func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{volume("a")} }, "myapp-container envoy", "a envoy-conf"},
		"volume": {func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{volume("envoy-conf")} }, "myapp-container envoy",
			"envoy-conf"},
		"declines": {func(p *corev1.Pod) { p.Annotations = map[string]string{sidecar.Annotation: "false"} },
			"myapp-container", ""},
		"complete": {func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "envoy", Image: "mine"})
		}, "myapp-container envoy", ""},
	} {
		pod := in(example[corev1.Pod](t, "myapp-pod"))
		pod.Name = name
		c.change(pod)
		made, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var containers, volumes []string
		for _, c := range made.Spec.Containers {
			containers = append(containers, c.Name)
		}
		for _, v := range made.Spec.Volumes {
			volumes = append(volumes, v.Name)
		}
		if strings.Join(containers, " ") != c.containers || strings.Join(volumes, " ") != c.volumes {
			t.Errorf("%s: got containers %q and volumes %q, want %s and %s", name, containers, volumes, c.containers, c.volumes)
		}
	}
}
