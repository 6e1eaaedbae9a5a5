package validatingadmissionpolicystatus_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/validatingadmissionpolicystatus"
	"github.com/bowline-dev/bowline/internal/trial"
)

// checking runs the controller in the plane of a test.
func checking() bowlinetest.Option {
	return bowlinetest.Manage(func(m *controller.Manager) error {
		validatingadmissionpolicystatus.Add(m)
		return nil
	})
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), checking())
}

// policy returns a policy for resources of a group-version.
func policy(name, group, version, resource string, expressions ...string) *admissionv1.ValidatingAdmissionPolicy {
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{version},
				Resources: []string{resource}},
		},
	}}}
	for _, e := range expressions {
		p.Spec.Validations = append(p.Spec.Validations, admissionv1.Validation{Expression: e})
	}
	return p
}

// TestClientGoReadsWarnings creates policies with an unmodified client-go and waits for their status.
func TestClientGoReadsWarnings(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		c := kubernetes.NewForConfigOrDie(p.RESTConfig())
		define(t, clientset.NewForConfigOrDie(p.RESTConfig()))
		withParams := policy("params", "apps", "v1", "deployments", "object.spec.replicas <= params.sails")
		withParams.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "example.com/v1", Kind: "Boat"}
		withMessage := policy("message", "apps", "v1", "deployments", "variables.n <= 5")
		withMessage.Spec.Variables = []admissionv1.Variable{{Name: "n", Expression: "object.spec.replicas"}}
		withMessage.Spec.Validations[0].MessageExpression = "'got ' + variables.n"
		for _, test := range []struct {
			policy *admissionv1.ValidatingAdmissionPolicy
			want   []string // fieldRef, warning, ...
		}{
			{policy("correct", "apps", "v1", "deployments", "object.spec.replicas <= 5",
				"object.metadata.name != request.namespace && namespaceObject.metadata.name != ''",
				"authorizer.group('apps').resource('deployments').check('get').allowed()",
				"object.spec.template.spec.containers.all(c, c.image.startsWith('a') && has(c.securityContext.privileged))",
				"type(object.spec.strategy.rollingUpdate.maxSurge) == string"), nil},
			{policy("typo", "apps", "v1", "deployments", "object.spec.replicsa <= 5"), []string{
				"spec.validations[0].expression",
				"apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicsa'\n" +
					" | object.spec.replicsa <= 5\n | ...........^\n",
			}},
			{policy("second", "apps", "v1", "deployments", "true", "object.spec.replicas == 'a'"), []string{
				"spec.validations[1].expression",
				"apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_==_' applied to " +
					"'(int, string)'\n | object.spec.replicas == 'a'\n | .....................^\n",
			}},
			{policy("custom", "example.com", "v1", "boats", "object.spec.sails > 1", "object.spec.sail > 1"), []string{
				"spec.validations[1].expression",
				"example.com/v1, Kind=Boat: ERROR: <input>:1:12: undefined field 'sail'\n" +
					" | object.spec.sail > 1\n | ...........^\n",
			}},
			{policy("unknown", "example.com", "v1", "ships", "object.spec.sail > 1"), nil},
			{policy("wildcard", "*", "v1", "deployments", "object.spec.sail > 1"), nil},
			{policy("definitions", "apiextensions.k8s.io", "v1", "customresourcedefinitions",
				"object.spec.versions.all(v, v.schema.openAPIV3Schema.title == '')"), nil},
			// As in Kubernetes, a schema that contains itself has no fields there, and a quantity has no type.
			{policy("limits", "", "v1", "pods", "object.spec.containers.all(c, 'cpu' in c.resources.limits)"), []string{
				"spec.validations[0].expression",
				"/v1, Kind=Pod: ERROR: <input>:1:51: undefined field 'limits'\n" +
					" | object.spec.containers.all(c, 'cpu' in c.resources.limits)\n" +
					" | " + strings.Repeat(".", 50) + "^\n",
			}},
			{withParams, []string{
				"spec.validations[0].expression",
				"apps/v1, Kind=Deployment: ERROR: <input>:1:31: undefined field 'sails'\n" +
					" | object.spec.replicas <= params.sails\n | ..............................^\n",
			}},
			{withMessage, []string{
				"spec.validations[0].messageExpression",
				"apps/v1, Kind=Deployment: ERROR: <input>:1:8: found no matching overload for '_+_' applied to " +
					"'(string, int)'\n | 'got ' + variables.n\n | .......^\n",
			}},
		} {
			policies := c.AdmissionregistrationV1().ValidatingAdmissionPolicies()
			if _, err := policies.Create(t.Context(), test.policy, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			status := checked(t, c, test.policy.Name, 1)
			var got []string
			for _, w := range status.TypeChecking.ExpressionWarnings {
				got = append(got, w.FieldRef, w.Warning)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", test.policy.Name, diff)
			}
		}
	}, trial.Alone(), checking())
}

// TestChangedPolicyIsCheckedAgain checks that the warnings follow the spec, and that labels cause no check.
func TestChangedPolicyIsCheckedAgain(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		c := kubernetes.NewForConfigOrDie(p.RESTConfig())
		policies := c.AdmissionregistrationV1().ValidatingAdmissionPolicies()
		first := policy("p", "apps", "v1", "deployments", "object.spec.replicsa <= 5")
		if _, err := policies.Create(t.Context(), first, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if status := checked(t, c, "p", 1); len(status.TypeChecking.ExpressionWarnings) != 1 {
			t.Errorf("got the status %v, want a warning", status)
		}
		for _, change := range []func(*admissionv1.ValidatingAdmissionPolicy){
			func(p *admissionv1.ValidatingAdmissionPolicy) { p.Labels = map[string]string{"a": "b"} },
			func(p *admissionv1.ValidatingAdmissionPolicy) {
				p.Spec.Validations[0].Expression = "object.spec.replicas <= 5"
			},
		} {
			now, err := policies.Get(t.Context(), "p", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			change(now)
			if _, err := policies.Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if status := checked(t, c, "p", 2); len(status.TypeChecking.ExpressionWarnings) != 0 {
			t.Errorf("got the status %v, want no warning", status)
		}
		now, err := policies.Get(t.Context(), "p", metav1.GetOptions{})
		if err != nil || !slices.ContainsFunc(now.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == "validatingadmissionpolicy-status" && e.Subresource == "status" &&
				e.Operation == metav1.ManagedFieldsOperationApply
		}) {
			t.Errorf("got the managers %v (%v), want the controller's", now.ManagedFields, err)
		}
	}, trial.Alone(), checking())
}

// checked waits until the status has the result for a generation.
func checked(t *testing.T, c kubernetes.Interface, name string, generation int64) (
	status admissionv1.ValidatingAdmissionPolicyStatus) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			p, err := c.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				status = p.Status
			}
			return status.ObservedGeneration == generation, err
		})
	if err != nil || status.TypeChecking == nil {
		t.Fatalf("%s: got the status %v (%v), want a result for generation %d", name, status, err, generation)
	}
	return status
}

// define creates the definition of Boats, whose spec has sails, and waits until they are served.
func define(t *testing.T, c clientset.Interface) {
	t.Helper()
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	root := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec": object(map[string]apiextensionsv1.JSONSchemaProps{"sails": {Type: "integer"}}),
	})
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "boats.example.com"}}
	definition.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "boats", Kind: "Boat"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root}}},
	}
	definitions := c.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			now, err := definitions.Get(ctx, definition.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			for _, condition := range now.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return true, nil
				}
			}
			return false, nil
		})
	if err != nil {
		t.Fatal(strings.TrimSpace(err.Error()))
	}
}
