package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// podRule is a validation rule of pods: a pod, and the expected errors.
type podRule struct {
	rule string
	// source is the function in Kubernetes' pkg/apis/core/validation with the message, or a recording.
	source string
	// spec is YAML that is merged into the spec of a valid pod, container into its only container.
	spec, container string
	want            string
}

// validPodToChange returns a pod with only the required fields.
func validPodToChange() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func overlay(t *testing.T, text string, on any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), on); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func (r podRule) pod(t *testing.T) *corev1.Pod {
	pod := validPodToChange()
	overlay(t, r.container, &pod.Spec.Containers[0])
	overlay(t, r.spec, &pod.Spec)
	Default(pod)
	Prepare(pod, nil, "")
	return pod
}

func text(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func checkPodRules(t *testing.T, rules []podRule) {
	t.Parallel()
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			if got := text(Validate(r.pod(t), nil, "")); got != r.want {
				t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
			}
		})
	}
}

const (
	labelError = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

	subdomainError = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

	qualifiedError = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

	labelValueError = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

func TestValidPodPasses(t *testing.T) {
	checkPodRules(t, []podRule{{rule: "the least that a pod needs", source: "ValidatePodCreate"}})
}
