package core

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestResourceQuotaRules checks the rules of ValidateResourceQuotaSpec (pkg/apis/core/validation).
func TestResourceQuotaRules(t *testing.T) {
	t.Parallel()
	check(t, "resourcequotas", []rule{
		{name: "what Kubernetes counts",
			body: `{"spec":{"hard":{"pods":"1","requests.cpu":"1500m","limits.memory":"1Gi",
			"count/widgets.example.com":"3","requests.nvidia.com/gpu":"4","requests.hugepages-2Mi":"4Mi"}}}`},
		{name: "what nobody counts", body: `{"spec":{"hard":{"bananas":"1","storage":"1"}}}`, want: []string{
			`spec.hard[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified`,
			`spec.hard[bananas]: Invalid value: "bananas": must be a standard resource for quota`,
			`spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota`}},
		{name: "a part of a pod, and less than none", body: `{"spec":{"hard":{"pods":"1500m","cpu":"-1"}}}`,
			want: []string{
				`spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
				`spec.hard[pods]: Invalid value: "1500m": must be an integer`}},
		{name: "a scope of pods", body: `{"spec":{"hard":{"pods":"1","cpu":"1"},"scopes":["NotTerminating"]}}`},
		{name: "a scope that counts less", body: `{"spec":{"hard":{"pods":"1","secrets":"1"},"scopes":["BestEffort"]}}`,
			want: []string{
				`spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource`}},
		{name: "an error of several scopes and resources", body: `{"spec":{"hard":{"secrets":"1","services":"1"},` +
			`"scopes":["Terminating","PriorityClass"]}}`, want: []string{
			`spec.scopes: Invalid value: ["Terminating","PriorityClass"]: unsupported scope applied to resource`}},
		{name: "an unknown scope", body: `{"spec":{"hard":{"pods":"1"},"scopes":["Some"]}}`, want: []string{
			`spec.scopes: Invalid value: ["Some"]: unsupported scope`}},
		{name: "scopes without a pod", body: `{"spec":{"hard":{"pods":"1"},"scopes":["BestEffort","NotBestEffort"]}}`,
			want: []string{
				`spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes`}},
		{name: "a selector of priorities", body: `{"spec":{"hard":{"pods":"1"},"scopeSelector":{"matchExpressions":[
			{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}}}`},
		{name: "selectors that select nothing",
			body: `{"spec":{"hard":{"pods":"1"},"scopeSelector":{"matchExpressions":[
			{"scopeName":"PriorityClass","operator":"In"},{"scopeName":"PriorityClass","operator":"Exists","values":["a"]},
			{"scopeName":"PriorityClass","operator":"Is"}]}}}`, want: []string{
				"spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
				"spec.scopeSelector.matchExpressions.values: Invalid value: [\"a\"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
				`spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator`}},
		{name: "a scope that has no values", body: `{"spec":{"hard":{"pods":"1"},"scopeSelector":{"matchExpressions":[
			{"scopeName":"Terminating","operator":"In","values":["a"]}]}}}`, want: []string{
			`spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ` +
				`ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`}},
		{name: "limits change", old: `{"spec":{"hard":{"pods":"1"},"scopes":["Terminating"]}}`,
			body: `{"spec":{"hard":{"pods":"2"},"scopes":["Terminating","Terminating"]}}`},
		{name: "scopes do not", old: `{"spec":{"hard":{"pods":"1"}}}`,
			body: `{"spec":{"hard":{"pods":"1"},"scopes":["Terminating"]}}`, want: []string{
				`spec.scopes: Invalid value: ["Terminating"]: field is immutable`}},
	})
}

func TestResourceQuotaColumns(t *testing.T) {
	t.Parallel()
	k := resourceQuotaKind(object.NewCache(1 << 20))
	q := &corev1.ResourceQuota{}
	q.Name = "q"
	q.Spec.Hard = corev1.ResourceList{"requests.cpu": resource.MustParse("2"), "limits.cpu": resource.MustParse("1")}
	q.Status.Hard = corev1.ResourceList{"pods": resource.MustParse("10"), "requests.cpu": resource.MustParse("2"),
		"limits.cpu": resource.MustParse("1")}
	q.Status.Used = corev1.ResourceList{"pods": resource.MustParse("3"), "requests.cpu": resource.MustParse("1500m")}
	row, err := k.Row(q, "v1", q.CreationTimestamp.Time)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := row[1:3], []any{"pods: 3/10, requests.cpu: 1500m/2", "limits.cpu: 0/1"}; !slices.Equal(got, want) {
		t.Errorf("the cells are %q, want %q", got, want)
	}
	want := []string{"ResourceQuota requests.cpu (2) should be less than limits.cpu (1)"}
	if got := k.Warnings(q, nil, ""); !slices.Equal(got, want) {
		t.Errorf("the warnings are %q, want %q", got, want)
	}
	if got := k.Warnings(q, q.DeepCopy(), ""); got != nil {
		t.Errorf("an update that changes nothing causes the warnings %q", got)
	}
}
