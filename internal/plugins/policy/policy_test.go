package policy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
	"github.com/bowline-dev/bowline/internal/plugins/plugintest"
)

// state is a Reader of a fixed set of objects.
type state = plugintest.State

// newState returns a state with the namespace default.
func newState() state {
	return state{namespaces: {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}}
}

// enact adds a policy for a resource, with a binding of the same name that denies.
func enact(s state, name, resource string,
	spec admissionregistrationv1.ValidatingAdmissionPolicySpec,
) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []matching.Rule{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
				Resources: []string{resource}},
		},
	}}}
	meta := metav1.ObjectMeta{Name: name}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}}}
	s[validatingPolicies] = append(s[validatingPolicies],
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: spec})
	s[validatingBindings] = append(s[validatingBindings], binding)
	return binding
}

// validations returns validations by their expressions.
func validations(expressions ...string) (all []admissionregistrationv1.Validation) {
	for _, e := range expressions {
		all = append(all, admissionregistrationv1.Validation{Expression: e})
	}
	return all
}

// newRegistry returns the built-in kinds.
func newRegistry() *kind.Registry { return kind.NewRegistry(builtin.Kinds(object.NewCache(0))...) }

// create returns the attributes of the create of a config map.
func create(t testing.TB, kinds *kind.Registry, data map[string]string) *admission.Attributes {
	t.Helper()
	gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
	k, ok := kinds.Find(gvr)
	if !ok {
		t.Fatal("config maps are not served")
	}
	obj := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Data: data}
	return &admission.Attributes{Operation: admission.Create, Resource: gvr,
		Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), ServedKind: k.Kind, Namespace: "default", Name: "a",
		Object: obj, User: "jane"}
}

// checkError checks that an error has a text, or is nil if the text is empty.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want one with %q", err, want)
	}
}

// TestStoredPolicyThatDoesNotCompile checks that the failure policy decides about a policy that another version of
// the server has stored.
func TestStoredPolicyThatDoesNotCompile(t *testing.T) {
	t.Parallel()
	kinds := newRegistry()
	for name, c := range map[string]struct {
		spec admissionregistrationv1.ValidatingAdmissionPolicySpec
		want string
	}{
		"a validation": {admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: validations("future()")},
			"ValidatingAdmissionPolicy 'p' with binding 'p' denied request: compilation error: compilation failed: ERROR: "},
		"a type": {admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: validations("1")},
			"compilation error: must evaluate to bool but got int"},
		"a condition": {admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: validations("false"),
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "c", Expression: "future()"}}},
			"compilation error: compilation failed: ERROR: "},
		"a variable": {admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: validations("variables.v == 1"),
			Variables: []admissionregistrationv1.Variable{{Name: "v", Expression: "future()"}}},
			"resulted in error: composited variable \"v\" fails to compile: compilation failed: ERROR: "},
		"a message": {admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: []admissionregistrationv1.Validation{
			{Expression: "false", Message: "no", MessageExpression: "future()"}}}, "denied request: no"},
		"an annotation": {admissionregistrationv1.ValidatingAdmissionPolicySpec{
			AuditAnnotations: []admissionregistrationv1.AuditAnnotation{{Key: "k", ValueExpression: "future()"}}},
			"compilation error: compilation failed: ERROR: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState()
			enact(s, "p", "configmaps", c.spec)
			checkError(t, Validating(kinds).Validate(t.Context(), create(t, kinds, nil), s), c.want)
			if name == "a message" {
				return // its failure is no failure of the policy
			}
			s = newState()
			c.spec.FailurePolicy = new(admissionregistrationv1.Ignore)
			enact(s, "p", "configmaps", c.spec)
			checkError(t, Validating(kinds).Validate(t.Context(), create(t, kinds, nil), s), "")
		})
	}
}

// TestEndOfRequestIsNoFailure checks that a write whose time is over is not accepted because of the failure policy.
func TestEndOfRequestIsNoFailure(t *testing.T) {
	t.Parallel()
	kinds, s := newRegistry(), newState()
	enact(s, "p", "configmaps", admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: new(admissionregistrationv1.Ignore), Validations: validations("object.missing")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkError(t, Validating(kinds).Validate(ctx, create(t, kinds, nil), s), context.Canceled.Error())
}

// TestCandidates checks that policies are found by the resource that a rule names, in the order of their names.
func TestCandidates(t *testing.T) {
	t.Parallel()
	s := newState()
	for name, resource := range map[string]string{"a": "configmaps", "b": "*", "c": "configmaps/status", "d": "pods",
		"e": "*/*", "f": "configmaps", "g": "*/scale"} {
		enact(s, name, resource, admissionregistrationv1.ValidatingAdmissionPolicySpec{})
	}
	c, err := newValidating(nil).read(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]string{"configmaps": "abcefg", "pods": "bdeg", "secrets": "beg"} {
		got := ""
		for p := range c.candidates(resource) {
			got += p.Name
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", resource, got, want)
		}
	}
}

// TestUnchangedPolicyIsNotCompiledAgain checks that a policy is compiled once for each generation, although its
// labels and status or other policies change.
func TestUnchangedPolicyIsNotCompiledAgain(t *testing.T) {
	t.Parallel()
	s := newState()
	enact(s, "p", "configmaps", admissionregistrationv1.ValidatingAdmissionPolicySpec{})
	read := func(before *configured) *configured {
		c, err := newValidating(nil).read(t.Context(), s, before)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := read(nil)
	changed := s[validatingPolicies][0].DeepCopyObject().(*admissionregistrationv1.ValidatingAdmissionPolicy)
	changed.Labels = map[string]string{"a": "b"}
	s[validatingPolicies] = []kind.Object{changed}
	enact(s, "o", "pods", admissionregistrationv1.ValidatingAdmissionPolicySpec{})
	second := read(first)
	if second.policies[1].definition != first.policies[0].definition {
		t.Error("the policy was parsed again")
	}
	changed = changed.DeepCopy()
	changed.Generation++
	s[validatingPolicies][0] = changed
	if read(second).policies[1].definition == first.policies[0].definition {
		t.Error("the policy was not parsed again after a change")
	}
}

// TestConcurrentWrites checks that concurrent writes share a compiled policy, but no values.
func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	kinds, s := newRegistry(), newState()
	enact(s, "p", "configmaps", admissionregistrationv1.ValidatingAdmissionPolicySpec{
		Variables:   []admissionregistrationv1.Variable{{Name: "n", Expression: "int(object.data.n)"}},
		Validations: validations("[1, 2].all(x, variables.n + x < 12)")})
	plugin, a := Validating(kinds), make([]*admission.Attributes, 20)
	for i := range a {
		a[i] = create(t, kinds, map[string]string{"n": strconv.Itoa(i)})
	}
	var writes sync.WaitGroup
	for i := range a {
		writes.Go(func() {
			for range 10 {
				if err := plugin.Validate(t.Context(), a[i], s); (err == nil) != (i < 10) {
					t.Errorf("%d: got error %v", i, err)
				}
			}
		})
	}
	writes.Wait()
}

// BenchmarkValidate measures the check of the create of a config map.
func BenchmarkValidate(b *testing.B) {
	kinds := newRegistry()
	plugin := func(n int, resource string, variables bool) (admission.Plugin, state) {
		s := newState()
		for i := range n {
			spec := admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: validations(
				"!has(object.data) || size(object.data) < 10", "object.metadata.name.startsWith('a')")}
			if variables {
				spec.Variables = []admissionregistrationv1.Variable{{Name: "name", Expression: "object.metadata.name"}}
				spec.Validations[1].Expression = "variables.name.startsWith('a')"
			}
			enact(s, fmt.Sprintf("p%d", i), resource, spec)
		}
		return Validating(kinds), s
	}
	for _, c := range []struct {
		name, resource string
		n              int
		variables      bool
	}{
		{"none", "", 0, false}, {"10 for another resource", "pods", 10, false}, {"10 with two expressions", "configmaps", 10, false},
		{"10 with a variable", "configmaps", 10, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, s := plugin(c.n, c.resource, c.variables)
			a := create(b, kinds, map[string]string{"k": "v"})
			if err := p.Validate(b.Context(), a, s); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Validate(b.Context(), a, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCompile measures the compilation of a policy with two expressions.
func BenchmarkCompile(b *testing.B) {
	spec := &admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: validations(
		"!has(object.data) || size(object.data) < 10", "object.metadata.name.startsWith('a')")}
	b.Run("without variables", func(b *testing.B) {
		for b.Loop() {
			compileValidating(spec)
		}
	})
	spec.Variables = []admissionregistrationv1.Variable{{Name: "name", Expression: "object.metadata.name"}}
	b.Run("with a variable", func(b *testing.B) {
		for b.Loop() {
			compileValidating(spec)
		}
	})
}
