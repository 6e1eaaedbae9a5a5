package plugins_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/admissionregistration/v1alpha1"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// configurations is a Reader that has only InitializerConfigurations.
type configurations struct {
	all     []*v1alpha1.InitializerConfiguration
	changed chan struct{}
	reads   int
}

// configure returns a Reader with one configuration per key of names, each with initializers of the given
// names for pods.
func configure(rule v1alpha1.Rule, names map[string][]string) *configurations {
	s := &configurations{changed: make(chan struct{})}
	for name, initializers := range names {
		c := &v1alpha1.InitializerConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, i := range initializers {
			c.Initializers = append(c.Initializers,
				v1alpha1.Initializer{Name: i, Rules: []v1alpha1.Rule{{APIGroups: []string{"none"}}, rule}})
		}
		s.all = append(s.all, c)
	}
	return s
}

func (s *configurations) Get(context.Context, schema.GroupResource, string, string) (kind.Object, error) {
	return nil, nil
}

func (s *configurations) List(_ context.Context, resource schema.GroupResource, _ string,
	yield func(kind.Object) bool) error {
	s.reads++
	for _, c := range s.all {
		if resource.Resource != "initializerconfigurations" || !yield(c) {
			return nil
		}
	}
	return nil
}

func (s *configurations) Changes(schema.GroupResource) (<-chan struct{}, error) {
	return s.changed, nil
}

// denyAll implements Rights: it denies and records every verb.
type denyAll struct{ verbs []string }

func (r *denyAll) May(_ context.Context, verb string) error {
	r.verbs = append(r.verbs, verb)
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", nil)
}

func creating(obj kind.Object) *admission.Attributes {
	return &admission.Attributes{
		Operation: admission.Create, Resource: corev1.SchemeGroupVersion.WithResource("pods"),
		Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "a", Object: obj,
	}
}

func podWaitingFor(names ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if names != nil {
		is := &kind.Initializers{}
		for _, n := range names {
			is.Pending = append(is.Pending, kind.Initializer{Name: n})
		}
		kind.SetInitializers(pod, is)
	}
	return pod
}

var podRule = v1alpha1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}

// TestPendingInitializersAreOrdered checks that pending initializers are ordered by configuration name, without
// duplicates.
func TestPendingInitializersAreOrdered(t *testing.T) {
	t.Parallel()
	state := configure(podRule, map[string][]string{"b": {"c.x.y", "a.x.y"}, "a": {"d.x.y", "c.x.y"}})
	pod, plugin := podWaitingFor(), &plugins.Initializers{}
	if err := plugin.Admit(t.Context(), creating(pod), state); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(kind.InitializersOf(pod).Names(), " "); got != "d.x.y c.x.y a.x.y" {
		t.Errorf("pending are %q", got)
	}
	if err := plugin.Validate(t.Context(), creating(pod), state); err != nil {
		t.Error(err)
	}
}

// TestInitializerRules checks which rules match a pod.
func TestInitializerRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		groups, versions, resources []string
		matches                     bool
	}{
		{[]string{""}, []string{"v1"}, []string{"pods"}, true},
		{[]string{"*"}, []string{"*"}, []string{"*"}, true},
		{[]string{"apps", ""}, []string{"v2", "v1"}, []string{"nodes", "pods"}, true},
		{[]string{"apps"}, []string{"v1"}, []string{"pods"}, false},
		{[]string{""}, []string{"v2"}, []string{"pods"}, false},
		{[]string{""}, []string{"v1"}, []string{"pod"}, false},
		{nil, nil, nil, false},
	} {
		pod := podWaitingFor()
		state := configure(v1alpha1.Rule{APIGroups: c.groups, APIVersions: c.versions, Resources: c.resources},
			map[string][]string{"a": {"a.x.y"}})
		if err := (&plugins.Initializers{}).Admit(t.Context(), creating(pod), state); err != nil {
			t.Fatal(err)
		}
		if got := kind.HasInitializers(pod); got != c.matches {
			t.Errorf("%v: %v", c, got)
		}
	}
}

// TestConfigurationsAreCachedUntilChange checks that configurations are listed once and then only after a
// change.
func TestConfigurationsAreCachedUntilChange(t *testing.T) {
	t.Parallel()
	state := configure(podRule, map[string][]string{"a": {"a.x.y"}})
	plugin := &plugins.Initializers{}
	admit := func() string {
		pod := podWaitingFor()
		if err := plugin.Admit(t.Context(), creating(pod), state); err != nil {
			t.Fatal(err)
		}
		return strings.Join(kind.InitializersOf(pod).Names(), " ")
	}
	if first, second := admit(), admit(); first != "a.x.y" || second != first || state.reads != 1 {
		t.Errorf("%q, then %q, in %d reads", first, second, state.reads)
	}
	was := state.changed
	state.all, state.changed = nil, make(chan struct{})
	close(was)
	if got := admit(); got != "" {
		t.Errorf("after the configuration was deleted: got %q", got)
	}
}

// TestInitializeVerbIsAuthorized checks that the verb initialize is authorized for writes with initializers, and for no
// other write.
func TestInitializeVerbIsAuthorized(t *testing.T) {
	t.Parallel()
	state := configure(podRule, map[string][]string{"a": {"a.x.y"}})
	for _, c := range []struct {
		what    string
		is, was *corev1.Pod
		refusal string
	}{
		{"a plain create", podWaitingFor(), nil, ""},
		{"a plain update", podWaitingFor(), podWaitingFor(), ""},
		{"a create that says who initializes", podWaitingFor("b.x.y"), nil,
			`pods "a" is forbidden: create with initializers denied`},
		{"a create that wants nobody to", podWaitingFor([]string{}...), nil,
			`pods "a" is forbidden: create with initializers denied`},
		{"an update of what waits", podWaitingFor("a.x.y"), podWaitingFor("a.x.y"),
			`pods "a" is forbidden: update to uninitialized resource denied`},
		{"one that ends it", podWaitingFor(), podWaitingFor("a.x.y"),
			`pods "a" is forbidden: update to uninitialized resource denied`},
	} {
		a, who := creating(c.is), &denyAll{}
		a.Rights = who
		if c.was != nil {
			a.Operation, a.Old = admission.Update, c.was
		}
		err := (&plugins.Initializers{}).Admit(t.Context(), a, state)
		if c.refusal == "" && (err != nil || len(who.verbs) > 0) || c.refusal != "" &&
			(err == nil || !strings.Contains(err.Error(), c.refusal) || who.verbs[0] != "initialize") {
			t.Errorf("%s: got authorization checks %v, %v", c.what, who.verbs, err)
		}
	}
}

// TestUnmatchedInitializersDoNotAllocate checks that a create that no initializer matches does not allocate.
func TestUnmatchedInitializersDoNotAllocate(t *testing.T) {
	rule := v1alpha1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"},
		Resources: []string{"deployments", "statefulsets"}}
	state := configure(rule, map[string][]string{"a": {"a.x.y", "b.x.y"}, "b": {"c.x.y"}})
	plugin, a := &plugins.Initializers{}, creating(podWaitingFor())
	admit := func() {
		if err := plugin.Admit(t.Context(), a, state); err != nil {
			t.Fatal(err)
		}
		if err := plugin.Validate(t.Context(), a, state); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, admit); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkUnmatchedInitializers measures the cost of configured initializers for a write that none of them
// matches.
func BenchmarkUnmatchedInitializers(b *testing.B) {
	rule := v1alpha1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"},
		Resources: []string{"deployments", "statefulsets"}}
	state := configure(rule, map[string][]string{"a": {"a.x.y", "b.x.y"}, "b": {"c.x.y"}})
	plugin, a := &plugins.Initializers{}, creating(podWaitingFor())
	b.ReportAllocs()
	for b.Loop() {
		if err := plugin.Admit(b.Context(), a, state); err != nil {
			b.Fatal(err)
		}
		if err := plugin.Validate(b.Context(), a, state); err != nil {
			b.Fatal(err)
		}
	}
}
