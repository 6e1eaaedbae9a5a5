package server_test

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Quantities with huge exponents are rejected; the library that parses them would allocate a billion digits.
func TestQuantityWithHugeExponentIsRejected(t *testing.T) {
	t.Parallel()
	w := start(t)
	const pods = "/api/v1/namespaces/default/pods"
	pod := func(name, cpu, note string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `","annotations":{"note":"` + note +
			`"}},
		  "spec":{"containers":[{"name":"a","image":"a","resources":{"limits":{"cpu":` + cpu + `}}}]}}`
	}
	w.create(t, pods, pod("a", `"1e3"`, "1e999999999"))
	const refusal = "quantities must match the regular expression"
	for _, cpu := range []string{`"1e999999999"`, `"1E999999999"`, `"1e-999999999"`, `"1.e+999999999"`,
		`"1234567890123456789012e999999999"`, `"1","cpu":"1e999999999"`, `"` + strings.Repeat("1", 1_000_000) + `"`,
		`"0.` + strings.Repeat("1", 1_000_000) + `"`} {
		w.send(t, http.MethodPost, pods, pod("b", cpu, ""), "Content-Type", jsonType).wantError(t,
			http.StatusBadRequest,
			metav1.StatusReasonBadRequest, refusal)
	}
	w.send(t, http.MethodPatch, pods+"/b?fieldManager=a", pod("b", `"1e999999999"`, ""), "Content-Type",
		applyType).
		wantError(t, http.StatusInternalServerError, "", refusal)
	w.send(t, http.MethodPatch, pods+"/a",
		`{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1e-999999999"}}}]}}`,
		"Content-Type", strategicType).wantError(t, http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, refusal)
	binary := protobufPod(t, "1e7777")
	w.send(t, http.MethodPost, pods, strings.Replace(binary, "1e7777", "1e9999", 1), "Content-Type",
		protobufType).wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest, refusal)
}

// protobufPod returns an encoded pod with a CPU limit.
func protobufPod(t *testing.T, cpu string) string {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "a", Image: "a",
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
	}}}}
	raw := must(pod.Marshal())(t)
	envelope := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}
	return "k8s\x00" + string(must(envelope.Marshal())(t))
}
