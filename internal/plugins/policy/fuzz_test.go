package policy

import (
	"encoding/json"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzMutation applies any apply configuration or JSON Patch to a Pod. The write is rejected, or the mutated object is
// encoded as JSON of the same kind, also if the policy ignores failures.
func FuzzMutation(f *testing.F) {
	for _, apply := range []string{
		`Object{metadata: Object.metadata{labels: {"a": "b"}}}`, `Object{spec: Object.spec{containers: [object.spec.containers[0]]}}`,
		`Object{spec: Object.spec{containers: [Object.spec.containers{name: "b", ports: [{"containerPort": 80}]}]}}`,
		`Object{metadata: Object.metadata{name: "b", managedFields: null}}`, `Object{spec: object.spec, kind: "Node"}`, `Object{`,
		`Object{spec: Object.spec{nodeSelector: {}, containers: []}}`, `Object{metadata: object.metadata.labels}`,
	} {
		f.Add(apply, false, true)
	}
	for _, patch := range []string{
		`[JSONPatch{op: "remove", path: "/kind"}]`, `[JSONPatch{op: "replace", path: "", value: null}]`,
		`[JSONPatch{op: "add", path: "/spec", value: Object.spec{containers: [{}]}}]`, `[JSONPatch{}]`,
		`[JSONPatch{op: "copy", from: "", path: "/metadata/labels"}]`, `[JSONPatch{op: "add", path: "/spec/a", value: b"x"}]`,
		`[JSONPatch{op: "add", path: "/metadata/uid", value: 9223372036854775807}]`,
		`[JSONPatch{op: "add", path: "/metadata/creationTimestamp", value: timestamp("2026-01-01T00:00:00Z")}]`,
		`[JSONPatch{op: "add", path: "/metadata/labels", value: {"a": duration("1s")}}]`,
	} {
		f.Add(patch, true, false)
	}
	kinds := newRegistry()
	f.Fuzz(func(t *testing.T, expression string, patch, ignores bool) {
		if len(expression) > 1_000 {
			return // the server rejects expressions that take long to compile
		}
		s, spec := newState(), mutatingSpec{Mutations: apply(expression)}
		if patch {
			spec.Mutations = patches(expression)
		}
		if ignores {
			spec.FailurePolicy = new(admissionregistrationv1.Ignore)
		}
		mutateBy(s, "p", spec)
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"app": "a"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "i", Args: []string{"x"}}}}}
		a := createOf(t, kinds, pod, "pods")
		if Mutating(kinds).Admit(t.Context(), a, s) != nil {
			return
		}
		text, err := json.Marshal(a.Object)
		var read corev1.Pod
		if err != nil || json.Unmarshal(text, &read) != nil || read.Kind != "Pod" || read.APIVersion != "v1" {
			t.Errorf("%s makes %s, %v", expression, text, err)
		}
	})
}
