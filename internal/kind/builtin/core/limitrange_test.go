package core

import (
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestLimitRangeRules and TestLimitRangeValues check the rules of ValidateLimitRange (pkg/apis/core/validation).
func TestLimitRangeRules(t *testing.T) {
	t.Parallel()
	check(t, "limitranges", []rule{
		{name: "limits of all types", body: `{"spec":{"limits":[
			{"type":"Container","max":{"cpu":"2","hugepages-2Mi":"2Mi","example.com/d":"1"},"min":{"cpu":"100m"},
				"default":{"cpu":"1"},"defaultRequest":{"cpu":"500m"},"maxLimitRequestRatio":{"cpu":"20"}},
			{"type":"Pod","max":{"memory":"1Gi"}},
			{"type":"PersistentVolumeClaim","max":{"storage":"1Gi"}},
			{"type":"example.com/image","max":{"storage":"1Gi"}}]}}`},
		{name: "no limits", body: `{}`},
		{name: "unknown types", body: `{"spec":{"limits":[{"type":"Image"},{"type":"a/b/c"}]}}`, want: []string{
			`spec.limits[0].type: Invalid value: "Image": must be a standard limit type or fully qualified`,
			`spec.limits[1].type: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end ` +
				`with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') ` +
				`with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`}},
		{name: "a type twice", body: `{"spec":{"limits":[{"type":"Pod"},{"type":"Pod"}]}}`, want: []string{
			`spec.limits[1].type: Duplicate value: "Pod"`}},
		{name: "resources that a container does not have",
			body: `{"spec":{"limits":[{"type":"Pod","max":{"bananas":"1","storage":"1"},
				"maxLimitRequestRatio":{"requests.a.b/c":"1"}}]}}`, want: []string{
				`spec.limits[0].max[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified`,
				`spec.limits[0].max[bananas]: Invalid value: "bananas": must be a standard resource for containers`,
				`spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers`,
				`spec.limits[0].maxLimitRequestRatio[requests.a.b/c]: Invalid value: "requests.a.b/c": doesn't follow extended resource name standard`}},
		{name: "resources of another type", body: `{"spec":{"limits":[{"type":"a.b/c","min":{"storage":"1"},
			"default":{"bananas":"1"},"defaultRequest":{"requests.a.b/c":"1"}}]}}`, want: []string{
			`spec.limits[0].default[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified`}},
		{name: "defaults of a pod", body: `{"spec":{"limits":[{"type":"Pod","default":{"cpu":"1"},
			"defaultRequest":{"cpu":"2"}}]}}`, want: []string{
			"spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
			"spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'"}},
		{name: "a claim without storage",
			body: `{"spec":{"limits":[{"type":"PersistentVolumeClaim","max":{"cpu":"1"}}]}}`,
			want: []string{
				"spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided"}},
		{name: "a finalizer without a domain", body: `{"metadata":{"finalizers":["a"]}}`, old: `{}`, want: []string{
			`metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer name nor is it fully qualified`}},
		{name: "an update", old: `{"spec":{"limits":[{"type":"Pod"}]}}`,
			body: `{"spec":{"limits":[{"type":"Container"}]}}`},
	})
}

func TestLimitRangeValues(t *testing.T) {
	t.Parallel()
	container := func(lists string) string { return `{"spec":{"limits":[{"type":"Container",` + lists + `}]}}` }
	const at = "spec.limits[0]."
	check(t, "limitranges", []rule{
		{name: "equal bounds",
			body: container(`"min":{"cpu":"1"},"max":{"cpu":"1"},"maxLimitRequestRatio":{"cpu":"1"}`)},
		{name: "crossed bounds",
			body: container(`"min":{"cpu":"3"},"max":{"cpu":"1"},"default":{"cpu":"2"},"defaultRequest":{"cpu":"2"}`),
			want: []string{
				at + `min[cpu]: Invalid value: "3": min value 3 is greater than max value 1`,
				at + `defaultRequest[cpu]: Invalid value: "2": min value 3 is greater than default request value 2`,
				at + `defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1`,
				at + `default[cpu]: Invalid value: "3": min value 3 is greater than default value 2`,
				at + `default[cpu]: Invalid value: "1": default value 2 is greater than max value 1`}},
		{name: "a request above the limit", body: container(`"default":{"cpu":"1"},"defaultRequest":{"cpu":"2"}`),
			want: []string{at + `defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1`}},
		{name: "ratios", body: container(`"min":{"cpu":"1","memory":"1"},"max":{"cpu":"2","memory":"3"},
			"maxLimitRequestRatio":{"cpu":"500m","memory":"3100m"}`), want: []string{
			at + `maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1`,
			at + `maxLimitRequestRatio[memory]: Invalid value: "3100m": ratio 3100m is greater than max/min = 3.000000`}},
		{name: "a ratio of quantities above the milli range",
			body: container(`"min":{"memory":"9P"},"max":{"memory":"15300T"},"maxLimitRequestRatio":{"memory":"1500m"}`),
			want: []string{at + `maxLimitRequestRatio[memory]: Invalid value: "1500m": ratio 1500m is greater than max/min = 1.700000`}},
		{name: "a ratio without a minimum", body: container(`"max":{"cpu":"1"},"maxLimitRequestRatio":{"cpu":"9"}`)},
		{name: "a ratio to nothing",
			body: container(`"min":{"cpu":"0"},"max":{"cpu":"1"},"maxLimitRequestRatio":{"cpu":"9"}`)},
		{name: "a device that is overcommitted",
			body: container(`"default":{"example.com/d":"2"},"defaultRequest":{"example.com/d":"1"}`), want: []string{
				at + `defaultRequest[example.com/d]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in example.com/d`}},
		{name: "huge pages that are overcommitted",
			body: container(`"default":{"hugepages-2Mi":"4Mi"},"defaultRequest":{"hugepages-2Mi":"2Mi"}`), want: []string{
				at + `defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi`}},
	})
}

// TestLimitRangeDefaults checks SetDefaults_LimitRangeItem (pkg/apis/core/v1).
func TestLimitRangeDefaults(t *testing.T) {
	t.Parallel()
	k := limitRangeKind(object.NewCache(1))
	l := read(t, k, "v1", `{"spec":{"limits":[
		{"type":"Container","max":{"cpu":"4","memory":"4","example.com/d":"4"},"min":{"cpu":"1","example.com/e":"1"},
			"default":{"memory":"3"},"defaultRequest":{"memory":"2"},"maxLimitRequestRatio":{"cpu":"1.0005"}},
		{"type":"Pod","max":{"cpu":"4"},"min":{"cpu":"100u"}}]}}`).(*corev1.LimitRange)
	quantities := func(list corev1.ResourceList) map[string]string {
		texts := map[string]string{}
		for name, q := range list {
			texts[string(name)] = q.String()
		}
		return texts
	}
	type texts = map[string]string
	c, p := l.Spec.Limits[0], l.Spec.Limits[1]
	for name, lists := range map[string][2]texts{
		"default": {{"cpu": "4", "memory": "3", "example.com/d": "4"}, quantities(c.Default)},
		"defaultRequest": {{"cpu": "4", "memory": "2", "example.com/d": "4", "example.com/e": "1"},
			quantities(c.DefaultRequest)},
		"ratio":            {{"cpu": "1001m"}, quantities(c.MaxLimitRequestRatio)},
		"minimum of a pod": {{"cpu": "1m"}, quantities(p.Min)},
		"default of a pod": {{}, quantities(p.Default)},
	} {
		if diff := gocmp.Diff(lists[0], lists[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLimitRangeGetsAName(t *testing.T) {
	t.Parallel()
	k := limitRangeKind(object.NewCache(1))
	l := &corev1.LimitRange{}
	k.Prepare(l, nil, "")
	if _, err := uuid.Parse(l.Name); err != nil {
		t.Errorf("a limit range without a name is named %q", l.Name)
	}
	named := &corev1.LimitRange{}
	named.Name = "a"
	if k.Prepare(named, nil, ""); named.Name != "a" {
		t.Errorf("a limit range with a name is renamed to %q", named.Name)
	}
}

// TestManyLimitsAreBounded checks that a limit range with very many invalid limits is not validated to the end.
func TestManyLimitsAreBounded(t *testing.T) {
	t.Parallel()
	const many = 50_000
	l := &corev1.LimitRange{}
	l.Spec.Limits = make([]corev1.LimitRangeItem, many)
	l.Spec.Limits[0].Max, l.Spec.Limits[0].Min = corev1.ResourceList{}, corev1.ResourceList{}
	for i := range many {
		name := corev1.ResourceName("-" + strconv.Itoa(i))
		l.Spec.Limits[0].Min[name] = resource.MustParse("2")
		l.Spec.Limits[0].Max[name] = resource.MustParse("1")
	}
	start := time.Now()
	n := len(limitRangeKind(object.NewCache(1)).Validate(t.Context(), l, nil, ""))
	if n > 4*maxLimitErrors || time.Since(start) > 10*time.Second {
		t.Errorf("%d errors after %v", n, time.Since(start))
	}
}
