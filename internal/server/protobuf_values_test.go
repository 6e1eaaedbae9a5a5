package server_test

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Protobuf can carry values that have no JSON form. They are rejected with the field and the reason, or replaced.
func TestProtobufValuesWithoutJSONForm(t *testing.T) {
	t.Parallel()
	w := start(t)
	odd := intstr.IntOrString{Type: 7}
	meta := metav1.ObjectMeta{Name: "a"}
	for path, obj := range map[string]runtime.Object{
		"/api/v1/namespaces/default/services": &corev1.Service{ObjectMeta: meta,
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			Spec:     corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, TargetPort: odd}}}},
		"/apis/policy/v1/namespaces/default/poddisruptionbudgets": &policyv1.PodDisruptionBudget{ObjectMeta: meta,
			TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
			Spec:     policyv1.PodDisruptionBudgetSpec{MinAvailable: &odd}},
	} {
		body := must(kind.Marshal(object.Protobuf, obj))(t)
		w.send(t, http.MethodPost, path, string(body), "Content-Type", protobufType).wantError(t, http.StatusBadRequest,
			metav1.StatusReasonBadRequest, "impossible IntOrString.Type")
	}
	fields := new(metav1.FieldsV1)
	fields.SetRawBytes([]byte("{"))
	meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "v1",
		FieldsType: "FieldsV1", FieldsV1: fields}}
	body := must(kind.Marshal(object.Protobuf, &corev1.ConfigMap{ObjectMeta: meta,
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}))(t)
	w.send(t, http.MethodPost, configMaps, string(body), "Content-Type", protobufType).want(t, http.StatusCreated)
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
}
