package webhook

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/plugins/plugintest"
)

type state = plugintest.State

var namespaces = schema.GroupResource{Resource: "namespaces"}

// kindOf returns a built-in kind.
func kindOf(t testing.TB, gr schema.GroupResource) kind.Kind {
	t.Helper()
	for _, k := range builtin.Kinds(object.NewCache(0)) {
		if k.Info().GroupResource() == gr {
			return k
		}
	}
	t.Fatalf("there is no %v", gr)
	return nil
}

// write returns the attributes of a write, as the server sets them.
func write(t testing.TB, op admission.Operation, gvr schema.GroupVersionResource, sub string,
	obj kind.Object) *admission.Attributes {
	t.Helper()
	k := kindOf(t, schema.GroupResource{Group: strings.Replace(gvr.Group, "extensions", "apps", 1),
		Resource: gvr.Resource})
	a := &admission.Attributes{
		Operation: op, Resource: gvr, Kind: gvr.GroupVersion().WithKind(k.Info().Kind), ServedKind: k, Subresource: sub,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj,
	}
	if op == admission.Delete {
		a.Object, a.Old = nil, obj
	}
	return a
}

func rule(operations, groups, versions, resources string) admissionregistrationv1.RuleWithOperations {
	r := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
		APIGroups: strings.Split(groups, ","), APIVersions: strings.Split(versions, ","),
		Resources: strings.Split(resources, ","),
	}}
	for op := range strings.SplitSeq(operations, ",") {
		r.Operations = append(r.Operations, admissionregistrationv1.OperationType(op))
	}
	return r
}

// hookOf returns a webhook with these rules.
func hookOf(t testing.TB, change func(w *admissionregistrationv1.MutatingWebhook),
	rules ...admissionregistrationv1.RuleWithOperations) *hook {
	t.Helper()
	url := "https://127.0.0.1:1"
	w := &admissionregistrationv1.MutatingWebhook{
		Name: "w.example.com", Rules: rules, ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
	}
	if change != nil {
		change(w)
	}
	h := newHook(t.Context(), nil, "c", 0, w)
	t.Cleanup(h.caller.Close)
	return h
}

var (
	podsV1        = corev1.SchemeGroupVersion.WithResource("pods")
	nodesV1       = corev1.SchemeGroupVersion.WithResource("nodes")
	namespacesV1  = corev1.SchemeGroupVersion.WithResource("namespaces")
	deploymentsV1 = appsv1.SchemeGroupVersion.WithResource("deployments")
	deploymentsEx = schema.GroupVersionResource{Group: "extensions", Version: "v1beta1", Resource: "deployments"}
)

// TestRules checks that rules match writes by operation, group, version, resource and scope.
func TestRules(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d"}}
	within, without, all := admissionregistrationv1.NamespacedScope, admissionregistrationv1.ClusterScope,
		admissionregistrationv1.AllScopes
	for _, s := range []struct {
		rule  admissionregistrationv1.RuleWithOperations
		scope *admissionregistrationv1.ScopeType
		op    admission.Operation
		gvr   schema.GroupVersionResource
		sub   string
		obj   kind.Object
		want  bool
	}{
		{rule("CREATE", "", "v1", "pods"), nil, admission.Create, podsV1, "", pod, true},
		{rule("CREATE", "", "v1", "pods"), nil, admission.Update, podsV1, "", pod, false},
		{rule("CREATE,UPDATE", "", "v1", "pods"), nil, admission.Update, podsV1, "", pod, true},
		{rule("*", "", "v1", "pods"), nil, admission.Delete, podsV1, "", pod, true},
		{rule("*", "apps", "v1", "pods"), nil, admission.Create, podsV1, "", pod, false},
		{rule("*", "*", "v1", "pods"), nil, admission.Create, podsV1, "", pod, true},
		{rule("*", "", "v1beta1", "pods"), nil, admission.Create, podsV1, "", pod, false},
		{rule("*", "", "*", "pods"), nil, admission.Create, podsV1, "", pod, true},
		{rule("*", "", "v1", "nodes"), nil, admission.Create, podsV1, "", pod, false},
		{rule("*", "", "v1", "*"), nil, admission.Create, podsV1, "", pod, true},
		{rule("*", "", "v1", "*"), nil, admission.Update, podsV1, "status", pod, false},
		{rule("*", "", "v1", "pods"), nil, admission.Update, podsV1, "status", pod, false},
		{rule("*", "", "v1", "pods/status"), nil, admission.Update, podsV1, "status", pod, true},
		{rule("*", "", "v1", "pods/status"), nil, admission.Update, podsV1, "", pod, false},
		{rule("*", "", "v1", "pods/*"), nil, admission.Update, podsV1, "status", pod, true},
		{rule("*", "", "v1", "pods/*"), nil, admission.Update, podsV1, "", pod, true},
		{rule("*", "", "v1", "*/status"), nil, admission.Update, podsV1, "status", pod, true},
		{rule("*", "", "v1", "*/*"), nil, admission.Update, podsV1, "status", pod, true},
		{rule("*", "", "v1", "*/scale"), nil, admission.Update, podsV1, "status", pod, false},
		{rule("*", "", "v1", "*"), &within, admission.Create, podsV1, "", pod, true},
		{rule("*", "", "v1", "*"), &without, admission.Create, podsV1, "", pod, false},
		{rule("*", "", "v1", "*"), &all, admission.Create, podsV1, "", pod, true},
		{rule("*", "", "v1", "*"), &within, admission.Create, nodesV1, "", node, false},
		{rule("*", "", "v1", "*"), &without, admission.Create, nodesV1, "", node, true},
		{rule("*", "", "v1", "*"), &within, admission.Create, namespacesV1, "", namespace, false},
		{rule("*", "", "v1", "*"), &without, admission.Delete, namespacesV1, "", namespace, true},
		{rule("*", "apps", "v1", "deployments"), nil, admission.Create, deploymentsV1, "", deployment, true},
		// the default match policy is Exact
		{rule("*", "apps", "v1", "deployments"), nil, admission.Create, deploymentsEx, "", deployment, false},
	} {
		s.rule.Scope = s.scope
		got, want := hookOf(t, nil, s.rule), s.want
		if _, yes, err := got.matches(t.Context(), write(t, s.op, s.gvr, s.sub, s.obj), state{}); err != nil ||
			yes != want {
			t.Errorf("%v %v %q by %+v: %v, %v", s.op, s.gvr, s.sub, s.rule, yes, err)
		}
	}
}

// TestEquivalentVersions checks that a webhook that names another version or group of the same resource is
// called with the first version that its rules name.
func TestEquivalentVersions(t *testing.T) {
	t.Parallel()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d"}}
	type (
		policyType = admissionregistrationv1.MatchPolicyType
		ruleType   = admissionregistrationv1.RuleWithOperations
	)
	calledForSubresource := func(sub string, policy policyType, rules ...ruleType) string {
		h := hookOf(t, func(w *admissionregistrationv1.MutatingWebhook) { w.MatchPolicy = &policy }, rules...)
		gv, yes, err := h.matches(t.Context(), write(t, admission.Create, deploymentsEx, sub, deployment), state{})
		if err != nil || !yes {
			return ""
		}
		return gv.String()
	}
	calledFor := func(policy policyType, rules ...ruleType) string {
		return calledForSubresource("", policy, rules...)
	}
	v1, beta1 := rule("*", "apps", "v1", "deployments"), rule("*", "apps", "v1beta1", "deployments")
	old := rule("*", "extensions", "v1beta1", "deployments")
	for _, s := range []struct{ got, want string }{
		{calledFor(admissionregistrationv1.Exact, v1), ""},
		{calledFor(admissionregistrationv1.Exact, v1, old), "extensions/v1beta1"},
		{calledFor(admissionregistrationv1.Equivalent, v1), "apps/v1"},
		{calledFor(admissionregistrationv1.Equivalent, beta1, v1), "apps/v1beta1"},
		{calledFor(admissionregistrationv1.Equivalent, v1, old), "extensions/v1beta1"},
		{calledFor(admissionregistrationv1.Equivalent, rule("*", "", "v1", "pods")), ""},
		{calledFor(admissionregistrationv1.Equivalent, rule("DELETE", "apps", "v1", "deployments")), ""},
		// Only extensions has a rollback.
		{calledForSubresource("rollback", admissionregistrationv1.Equivalent, rule("*", "apps", "v1", "deployments/*")),
			""},
		{calledForSubresource("rollback", admissionregistrationv1.Equivalent, rule("*", "*", "*", "deployments/*")),
			"extensions/v1beta1"},
	} {
		if s.got != s.want {
			t.Errorf("called for %q, want %q", s.got, s.want)
		}
	}
}

// TestSelectors checks selectors against the old and the new labels of the object, and against the labels of
// its namespace.
func TestSelectors(t *testing.T) {
	t.Parallel()
	stored := state{namespaces: {
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"guard": "yes"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "free"}},
	}}
	yes := &metav1.LabelSelector{MatchLabels: map[string]string{"guard": "yes"}}
	no := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "guard",
		Operator: metav1.LabelSelectorOpDoesNotExist}}}
	objects := hookOf(t, func(w *admissionregistrationv1.MutatingWebhook) {
		w.ObjectSelector = yes
	}, rule("*", "*", "*", "*/*"))
	spaces := hookOf(t, func(w *admissionregistrationv1.MutatingWebhook) {
		w.NamespaceSelector = yes
	}, rule("*", "*", "*", "*/*"))
	unlabelled := hookOf(t, func(w *admissionregistrationv1.MutatingWebhook) {
		w.ObjectSelector = no
	}, rule("*", "*", "*", "*/*"))
	guarded := map[string]string{"guard": "yes"}
	pod := func(namespace string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", Labels: labels}}
	}
	space := func(name string, labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	update := write(t, admission.Update, podsV1, "", pod("free", nil))
	update.Old = pod("free", guarded)
	scale := write(t, admission.Update, deploymentsV1, "scale",
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "free", Name: "d", Labels: guarded}})
	for name, s := range map[string]struct {
		hook *hook
		a    *admission.Attributes
		want bool
	}{
		"object with the label": {objects, write(t, admission.Create, podsV1, "", pod("free", guarded)),
			true},
		"object without": {objects, write(t, admission.Create, podsV1, "", pod("default", nil)),
			false},
		"object that had it": {objects, update, true},
		"object that goes": {objects, write(t, admission.Delete, podsV1, "", pod("free", guarded)),
			true},
		"a scale, which has no labels": {objects, scale, false},
		"a scale has none":             {unlabelled, scale, true},
		"namespace with the label": {spaces, write(t, admission.Create, podsV1, "", pod("default", nil)),
			true},
		"namespace without": {spaces, write(t, admission.Create, podsV1, "", pod("free", guarded)),
			false},
		"no namespace": {spaces, write(t, admission.Create, nodesV1, "", &corev1.Node{}), true},
		"a namespace that is to have it": {spaces,
			write(t, admission.Create, namespacesV1, "", space("new", guarded)), true},
		"a namespace that is to lose it": {spaces,
			write(t, admission.Update, namespacesV1, "", space("default", nil)), false},
		"a namespace that has it, its status": {spaces,
			write(t, admission.Update, namespacesV1, "status", space("default", nil)), true},
		"a namespace that has it, and goes": {spaces,
			write(t, admission.Delete, namespacesV1, "", space("default", guarded)), true},
		"a namespace that has none, and goes": {spaces,
			write(t, admission.Delete, namespacesV1, "", space("free", nil)), false},
	} {
		if _, got, err := s.hook.matches(t.Context(), s.a, stored); err != nil || got != s.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, _, err := spaces.matches(t.Context(), write(t, admission.Create, podsV1, "", pod("gone", nil)), stored)
	if !apierrors.IsNotFound(err) {
		t.Errorf("object in a deleted namespace: got %v", err)
	}
}

// unmatched returns a function that runs a write of a config map through the plugins, with webhooks that do
// not match it.
func unmatched(t testing.TB) (ask func()) {
	t.Helper()
	url := "https://127.0.0.1:1"
	client := admissionregistrationv1.WebhookClientConfig{URL: &url}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	equivalent := admissionregistrationv1.Equivalent
	rules := []admissionregistrationv1.RuleWithOperations{rule("CREATE", "", "v1", "pods"),
		rule("*", "apps", "v1", "*")}
	s := state{
		mutatingConfigurations: {&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "m"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{
				{Name: "m.example.com", ClientConfig: client, Rules: rules, MatchPolicy: &equivalent},
				{Name: "n.example.com", ClientConfig: client, MatchPolicy: &equivalent, ObjectSelector: selector,
					Rules: []admissionregistrationv1.RuleWithOperations{rule("*", "*", "*", "*")}},
			}}},
		validatingConfigurations: {&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "v"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "v.example.com", ClientConfig: client,
				Rules: rules, MatchPolicy: &equivalent}}}},
	}
	mutator, validator, _ := Plugins(t.Context(), slog.New(slog.DiscardHandler))
	a := write(t, admission.Create, corev1.SchemeGroupVersion.WithResource("configmaps"), "",
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c",
			Labels: map[string]string{"app": "mail"}}})
	ctx := context.Background()
	return func() {
		for _, p := range []admission.Plugin{mutator, validator} {
			if err := p.Admit(ctx, a, s); err != nil {
				t.Fatal(err)
			}
			if err := p.Validate(ctx, a, s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestUnmatchedWebhooksDoNotAllocate checks that a write that no webhook matches does not allocate.
func TestUnmatchedWebhooksDoNotAllocate(t *testing.T) {
	ask := unmatched(t)
	if n := testing.AllocsPerRun(100, ask); n > 0 {
		t.Errorf("%v allocations for each write", n)
	}
}

// BenchmarkUnmatchedWebhooks measures the cost of three configured webhooks for a write that none of them matches.
func BenchmarkUnmatchedWebhooks(b *testing.B) {
	ask := unmatched(b)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}
