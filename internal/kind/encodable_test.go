package kind

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestValuesWithoutJSONFormAreFound checks objects of which protobuf can carry values that JSON cannot.
func TestValuesWithoutJSONFormAreFound(t *testing.T) {
	t.Parallel()
	odd := intstr.IntOrString{Type: 7}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: odd}}}
	schema := &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"a": {Items: &apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{
			{Default: &apiextensionsv1.JSON{Raw: []byte("{")}}}}}}}
	for want, obj := range map[string]runtime.Object{
		"spec.ports.0.targetPort: ": serviceWith(odd),
		"spec.minAvailable: ": &policyv1.PodDisruptionBudget{
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &odd}},
		"spec.containers.0.livenessProbe.httpGet.port: ": &corev1.Pod{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{LivenessProbe: probe}}}},
		"spec.versions.0.schema.openAPIV3Schema.properties.a.items: ": definitionWith(schema),
	} {
		if err := checkEncodable(obj); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v, want one at %s", err, want)
		}
	}
	schema.Properties["a"].Items.JSONSchemas[0].Default.Raw = []byte("{}")
	for _, obj := range []runtime.Object{definitionWith(schema), &corev1.ConfigMap{}, &corev1.Pod{},
		serviceWith(intstr.FromString("web"))} {
		if err := checkEncodable(obj); err != nil {
			t.Errorf("%T: got error %v", obj, err)
		}
	}
}

func serviceWith(port intstr.IntOrString) *corev1.Service {
	return &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{TargetPort: port}}}}
}

func definitionWith(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema}}}}}
}
