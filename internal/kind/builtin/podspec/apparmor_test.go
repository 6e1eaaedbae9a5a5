package podspec

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestAppArmorAnnotation follows applyAppArmorVersionSkew (pkg/registry/core/pod/strategy.go) and, for templates,
// warningsForPodSpecAndMeta (pkg/api/pod/warnings.go).
func TestAppArmorAnnotation(t *testing.T) {
	t.Parallel()
	const key = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "c"
	warning := "metadata.annotations[" + key + `]: deprecated since v1.30; use the "appArmorProfile" field instead`
	for _, c := range []struct {
		name, value, spec, container string
		want                         string // the context of the container
		warns                        bool
	}{
		{"the default", "runtime/default", ``, ``, `{"appArmorProfile":{"type":"RuntimeDefault"}}`, true},
		{"none", "unconfined", ``, ``, `{"appArmorProfile":{"type":"Unconfined"}}`, true},
		{"the node's", "localhost/a", ``, `securityContext: {privileged: true}`,
			`{"privileged":true,"appArmorProfile":{"type":"Localhost","localhostProfile":"a"}}`, true},
		{"the node's without a name", "localhost/", ``, ``, `null`, true},
		{"a padded name", "localhost/ a", ``, ``, `null`, true},
		{"an unknown profile", "x", ``, ``, `null`, true},
		{"the pod's", "runtime/default", `securityContext: {appArmorProfile: {type: RuntimeDefault}}`, ``, `null`, false},
		{"not the pod's", "unconfined", `securityContext: {appArmorProfile: {type: RuntimeDefault}}`, ``,
			`{"appArmorProfile":{"type":"Unconfined"}}`, true},
		{"a field beside it", "unconfined", ``, `securityContext: {appArmorProfile: {type: RuntimeDefault}}`,
			`{"appArmorProfile":{"type":"RuntimeDefault"}}`, false},
		{"a pod for Windows", "unconfined", `os: {name: windows}`, ``, `null`, false},
	} {
		pod := validPodToChange()
		overlay(t, c.container, &pod.Spec.Containers[0])
		overlay(t, c.spec, &pod.Spec)
		pod.Annotations = map[string]string{key: c.value}
		Default(pod)
		var want, ofTemplate []string
		if c.warns {
			want, ofTemplate = []string{warning}, []string{"spec.template." + warning}
		}
		if got := EarlyWarnings(pod); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: warnings %q, want %q", c.name, got, want)
		}
		if pod.Spec.OS == nil {
			template := &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
			got := TemplateWarnings(template, field.NewPath("spec", "template"))
			if fmt.Sprint(got) != fmt.Sprint(ofTemplate) {
				t.Errorf("%s: warnings of a template %q, want %q", c.name, got, ofTemplate)
			}
		}
		Prepare(pod, nil, "")
		if got, err := json.Marshal(pod.Spec.Containers[0].SecurityContext); err != nil || string(got) != c.want {
			t.Errorf("%s: security context %s (%v), want %s", c.name, got, err, c.want)
		}
		if got := Warnings(pod, nil); len(got) > 0 {
			t.Errorf("%s: later warnings %q", c.name, got)
		}
	}
}
