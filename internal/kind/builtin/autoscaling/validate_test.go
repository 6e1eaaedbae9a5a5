package autoscaling

import (
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

const target = `"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}`

// spec returns an autoscaler with a valid target and bound, and these fields of the spec.
func spec(fields ...string) string {
	return `{"spec":{` + strings.Join(append([]string{target, `"maxReplicas":5`}, fields...), ",") + `}}`
}

// bounds returns an autoscaler with these bounds, and a metric that allows zero replicas.
func bounds(minimum, maximum string) string {
	return `{"spec":{` + target + `,"minReplicas":` + minimum + `,"maxReplicas":` + maximum +
		`,"metrics":[` + external + `]}}`
}

const external = `{"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"Value","value":"5"}}}`

// TestAutoscalerBounds checks the rules of minReplicas and maxReplicas in ValidateHorizontalPodAutoscaler and in
// pkg/apis/autoscaling/v2/zz_generated.validations.go.
func TestAutoscalerBounds(t *testing.T) {
	t.Parallel()
	const (
		few     = "spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"
		crossed = "spec.maxReplicas: Invalid value: %: must be greater than or equal to `minReplicas`"
	)
	crossedBy := func(n string) string { return strings.Replace(crossed, "%", n, 1) }
	check(t, []rule{
		{name: "defaults", body: spec()},
		{name: "zero replicas with a metric of outside", body: bounds("0", "1")},
		{name: "zero replicas with a metric of an object",
			body: spec(`"minReplicas":0,"metrics":[{"type":"Object","object":{
				"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"m"},
				"target":{"type":"AverageValue","averageValue":"5"}}}]`)},
		{name: "zero replicas with a metric of pods", body: spec(`"minReplicas":0`), want: []string{
			"spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"}},
		{name: "a negative minimum", body: bounds("-1", "1"), want: []string{few}},
		{name: "a negative minimum that was there", body: bounds("-1", "0"), old: bounds("-1", "1"),
			want: []string{few, "spec.maxReplicas: Required value"}},
		{name: "no maximum", body: bounds("1", "0"),
			want: []string{crossedBy("0"), "spec.maxReplicas: Required value"}},
		{name: "no maximum as before", body: bounds("1", "0"), old: bounds("1", "0"),
			want: []string{"spec.maxReplicas: Required value: must be set and greater than 0", crossedBy("0")}},
		{name: "a negative maximum", body: bounds("0", "-2"), want: []string{crossedBy("-2"),
			"spec.maxReplicas: Invalid value: -2: must be greater than or equal to 1"}},
		{name: "a negative maximum as before", body: bounds("0", "-2"), old: bounds("0", "-2"), want: []string{
			"spec.maxReplicas: Invalid value: -2: must be greater than or equal to 1", crossedBy("-2")}},
		{name: "a maximum below the minimum", body: bounds("3", "2"), want: []string{crossedBy("2")}},
		{name: "late errors follow the others", body: `{"spec":{"minReplicas":-1,"maxReplicas":1}}`, want: []string{
			"spec.scaleTargetRef.kind: Required value", "spec.scaleTargetRef.name: Required value",
			`spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group`, few}},
	})
}

// TestScaleTargets checks ValidateCrossVersionObjectReference, with the options of
// validationOptionsForHorizontalPodAutoscaler (pkg/registry/autoscaling).
func TestScaleTargets(t *testing.T) {
	t.Parallel()
	to := func(apiVersion, kind, name string) string {
		return `{"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"` + apiVersion + `","kind":"` + kind +
			`","name":"` + name + `"}}}`
	}
	const noGroup = `spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group`
	check(t, []rule{
		{name: "a core kind with a scale", body: to("v1", "ReplicationController", "r")},
		{name: "a core kind without a scale", body: to("v1", "Pod", "p"), want: []string{noGroup}},
		{name: "names that cannot be in a path", body: to("apps/v1", "a/b", "50%"), want: []string{
			`spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain '/'`,
			`spec.scaleTargetRef.name: Invalid value: "50%": may not contain '%'`}},
		{name: "a malformed version", body: to("a/b/c", "Deployment", "d"), want: []string{
			`spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`}},
		{name: "a bad version that was there", body: to("v1", "Pod", "other"), old: to("v1", "Pod", "p")},
		{name: "a bad version of another kind", body: to("v1", "Pod", "p"), old: to("v1", "Node", "p"),
			want: []string{noGroup}},
	})
}

// TestMetricRules checks validateMetrics (pkg/apis/autoscaling/validation).
func TestMetricRules(t *testing.T) {
	t.Parallel()
	metric := func(m string) string { return spec(`"metrics":[` + m + `]`) }
	const (
		types = `"ContainerResource", "External", "Object", "Pods", "Resource"`
		value = `"target":{"type":"Value","value":"5"}`
		pods  = `"pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"5"}}`
	)
	check(t, []rule{
		{name: "an external metric", body: metric(external)},
		{name: "an unknown type", body: metric(`{"type":"Lunar"}`), want: []string{
			`spec.metrics[0].type: Unsupported value: "Lunar": supported values: ` + types}},
		{name: "no type", body: metric(`{}`), want: []string{
			`spec.metrics[0].type: Required value: must specify a metric source type`,
			`spec.metrics[0].type: Unsupported value: "": supported values: ` + types}},
		{name: "no source", body: metric(`{"type":"Pods"}`), want: []string{
			`spec.metrics[0].pods: Required value: must populate information for the given metric source`}},
		{name: "the source of another type",
			body: metric(`{"type":"ContainerResource",` + pods + `}`), want: []string{
				`spec.metrics[0].containerResource: Required value: must populate information for the given metric source`}},
		{name: "two sources",
			body: metric(`{"type":"Pods",` + pods + `,"external":{"metric":{"name":"m"},` + value + `}}`),
			want: []string{`spec.metrics[0].external: Forbidden: must populate the given metric source only`}},
		{name: "the second source is not validated", body: metric(`{"type":"Pods",` + pods + `,"resource":{}}`),
			want: []string{`spec.metrics[0].resource: Forbidden: must populate the given metric source only`}},
		{name: "an empty object", body: metric(`{"type":"Object","object":{}}`), want: []string{
			`spec.metrics[0].object.describedObject.kind: Required value`,
			`spec.metrics[0].object.describedObject.name: Required value`,
			`spec.metrics[0].object.metric.name: Required value: must specify a metric name`,
			`spec.metrics[0].object.target.type: Required value: must specify a metric target type`,
			`spec.metrics[0].object.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue`,
			`spec.metrics[0].object.target.averageValue: Required value: must set either a target value or averageValue`}},
		{name: "an external metric without a value",
			body: metric(`{"type":"External","external":{"metric":{"name":"a/b"},"target":{"type":"Value"}}}`),
			want: []string{
				`spec.metrics[0].external.metric.name: Invalid value: "a/b": may not contain '/'`,
				`spec.metrics[0].external.target.averageValue: Required value: must set either a target value for metric or a per-pod target`}},
		{name: "an external metric with two values", body: metric(`{"type":"External","external":{"metric":{"name":"m"},
			"target":{"type":"Value","value":"5","averageValue":"5"}}}`), want: []string{
			`spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target`}},
		{name: "a metric of pods without an average",
			body: metric(`{"type":"Pods","pods":{"metric":{"name":"m"},` + value + `}}`), want: []string{
				`spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue`}},
		{name: "values that are not positive", body: metric(`{"type":"Object","object":{
			"describedObject":{"kind":"K","name":"n"},"metric":{"name":"m"},
			"target":{"type":"Value","value":"0","averageValue":"-1","averageUtilization":0}}}`), want: []string{
			`spec.metrics[0].object.target.value: Invalid value: "0": must be positive`,
			`spec.metrics[0].object.target.averageValue: Invalid value: "-1": must be positive`,
			`spec.metrics[0].object.target.averageUtilization: Invalid value: 0: must be greater than 0`}},
		{name: "a malformed version of an object", body: metric(describing("a/b/c")), want: []string{
			`spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`}},
		{name: "a malformed version after another", body: metric(describing("a/b/c")),
			old: metric(describing("d/e/f"))},
	})
}

func describing(apiVersion string) string {
	return `{"type":"Object","object":{"describedObject":{"apiVersion":"` + apiVersion + `","kind":"K","name":"n"},
		"metric":{"name":"m"},"target":{"type":"Value","value":"1"}}}`
}

func TestResourceMetricRules(t *testing.T) {
	t.Parallel()
	container := func(name string) string {
		return spec(`"metrics":[{"type":"ContainerResource","containerResource":{"name":"` + name +
			`","container":"c","target":{"type":"Utilization","averageUtilization":5}}}]`)
	}
	const at = "spec.metrics[0].containerResource"
	check(t, []rule{
		{name: "CPU", body: container("cpu")},
		{name: "huge pages", body: container("hugepages-2Mi")},
		{name: "a device", body: container("example.com/gpu")},
		{name: "a resource of quotas", body: container("pods"), want: []string{
			at + `.name: Invalid value: "pods": must be a standard resource for containers`}},
		{name: "an unknown resource", body: container("gpu"), want: []string{
			at + `.name: Invalid value: "gpu": must be a standard resource type or fully qualified`,
			at + `.name: Invalid value: "gpu": must be a standard resource for containers`}},
		{name: "a device with a prefix of quotas", body: container("requests.example.com/gpu"), want: []string{
			at + `.name: Invalid value: "requests.example.com/gpu": doesn't follow extended resource name standard`}},
		{name: "an empty container resource",
			body: spec(`"metrics":[{"type":"ContainerResource","containerResource":{"target":{"type":"Utilization"}}}]`),
			want: []string{
				at + `.name: Required value: must specify a resource name`,
				at + `.container: Required value: must specify a container`,
				at + `.target.averageUtilization: Required value: must set either a target raw value or a target utilization`}},
		{name: "a container that is no label",
			body: spec(`"metrics":[{"type":"ContainerResource","containerResource":{"name":"cpu","container":"A",
				"target":{"type":"Utilization","averageUtilization":5}}}]`),
			want: []string{at + `.container: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
				`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`}},
		{name: "a resource without a name, with two values",
			body: spec(`"metrics":[{"type":"Resource","resource":{"target":{"type":"Value","averageValue":"1","averageUtilization":1}}}]`),
			want: []string{
				`spec.metrics[0].resource.name: Required value: must specify a resource name`,
				`spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization`}},
		{name: "the CPU field of autoscaling/v1", version: "autoscaling/v1",
			body: spec(`"targetCPUUtilizationPercentage":-1`), want: []string{
				`spec.metrics[0].resource.target.averageUtilization: Invalid value: -1: must be greater than 0`}},
	})
}

// TestBehaviorRules checks validateBehavior (pkg/apis/autoscaling/validation).
func TestBehaviorRules(t *testing.T) {
	t.Parallel()
	up := func(rules string) string { return spec(`"behavior":{"scaleUp":{` + rules + `}}`) }
	const at = "spec.behavior.scaleUp."
	check(t, []rule{
		{name: "defaults", body: spec(`"behavior":{}`)},
		{name: "the limits",
			body: up(`"stabilizationWindowSeconds":3600,"selectPolicy":"Disabled","tolerance":"0",
				"policies":[{"type":"Pods","value":1,"periodSeconds":1800}]`)},
		{name: "a negative window", body: up(`"stabilizationWindowSeconds":-1`), want: []string{
			at + "stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero"}},
		{name: "a long window", body: up(`"stabilizationWindowSeconds":3601`), want: []string{
			at + "stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"}},
		{name: "an unknown choice", body: up(`"selectPolicy":"Best"`), want: []string{
			at + `selectPolicy: Unsupported value: "Best": supported values: "Disabled", "Max", "Min"`}},
		{name: "no policies", body: up(`"policies":[]`), want: []string{
			at + "policies: Required value: must specify at least one Policy"}},
		{name: "an empty policy", body: up(`"policies":[{}]`), want: []string{
			at + `policies[0].type: Unsupported value: "": supported values: "Percent", "Pods"`,
			at + "policies[0].value: Invalid value: 0: must be greater than zero",
			at + "policies[0].periodSeconds: Invalid value: 0: must be greater than zero"}},
		{name: "a long period", body: up(`"policies":[{"type":"Percent","value":1,"periodSeconds":1801}]`),
			want: []string{at + "policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800"}},
		{name: "a negative tolerance", body: spec(`"behavior":{"scaleDown":{"tolerance":"-100m"}}`), want: []string{
			`spec.behavior.scaleDown.tolerance: Invalid value: "-100m": must be greater than or equal to 0`}},
	})
}

// TestAutoscalerStatus checks ValidateHorizontalPodAutoscalerStatusUpdate.
func TestAutoscalerStatus(t *testing.T) {
	t.Parallel()
	check(t, []rule{
		{name: "a status of an invalid object", sub: "status", old: `{}`,
			body: `{"status":{"currentReplicas":1,"desiredReplicas":2,"conditions":[{"type":"?","observedGeneration":0}]}}`},
		{name: "negative numbers", sub: "status", old: `{}`,
			body: `{"status":{"currentReplicas":-1,"desiredReplicas":-2,"conditions":[{"observedGeneration":-3}]}}`,
			want: []string{
				"status.conditions[0].observedGeneration: Invalid value: -3: must be greater than or equal to 0",
				"status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
				"status.desiredReplicas: Invalid value: -2: must be greater than or equal to 0"}},
	})
}

// TestManyErrorsAreBounded checks that lists with very many invalid elements are not validated to the end.
func TestManyErrorsAreBounded(t *testing.T) {
	t.Parallel()
	const many = 300_000
	k := autoscalerKind(object.NewCache(1))
	rules := &autoscalingv2.HPAScalingRules{Policies: make([]autoscalingv2.HPAScalingPolicy, many)}
	conditions := make([]autoscalingv2.HorizontalPodAutoscalerCondition, many)
	for i := range conditions {
		conditions[i].ObservedGeneration = new(int64(-1))
	}
	h := &autoscalingv2.HorizontalPodAutoscaler{
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			Metrics:  make([]autoscalingv2.MetricSpec, many),
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rules, ScaleDown: rules},
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: conditions},
	}
	for _, sub := range []string{"", "status"} {
		start := time.Now()
		if n := len(k.Validate(t.Context(), h, h, sub)); n > 4*maxErrors || time.Since(start) > 10*time.Second {
			t.Errorf("%q: %d errors after %v", sub, n, time.Since(start))
		}
	}
}
