package node

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func read(t *testing.T, k kind.Kind, body string) *nodev1.RuntimeClass {
	t.Helper()
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: "node.k8s.io/v1"}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(body, err, strict)
	}
	return obj.(*nodev1.RuntimeClass)
}

func check(t *testing.T, rules []rule) {
	t.Helper()
	k := runtimeClassKind(object.NewCache(1))
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.old != "" {
				old = read(t, k, r.old)
			}
			var got []string
			for _, e := range k.Validate(t.Context(), read(t, k, r.body), old, "") {
				got = append(got, e.Error())
			}
			if diff := gocmp.Diff(r.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// rule is an object, optionally with its old state, and the expected errors.
type rule struct {
	name, body, old string
	want            []string
}

// TestHandlerRules checks the rules of ValidateRuntimeClass and ValidateRuntimeClassUpdate (pkg/apis/node/validation)
// and of pkg/apis/node/v1/zz_generated.validations.go.
func TestHandlerRules(t *testing.T) {
	t.Parallel()
	const (
		label = `handler: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
			`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
		required  = "handler: Required value"
		immutable = "handler: Invalid value: null: field is immutable"
		overhead  = `"overhead":{"podFixed":{"cpu":"-1"}}`
		negative  = `overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`
	)
	check(t, []rule{
		{name: "a handler", body: `{"handler":"runsc"}`},
		{name: "no handler", body: `{` + overhead + `}`, want: []string{negative, required}},
		{name: "not a label", body: `{"handler":"A",` + overhead + `}`, want: []string{negative, label}},
		{name: "unchanged", body: `{"handler":"runsc"}`, old: `{"handler":"runsc"}`},
		{name: "none as before", body: `{` + overhead + `}`, old: `{}`, want: []string{required, negative}},
		{name: "not a label as before", body: `{"handler":"A",` + overhead + `}`, old: `{"handler":"A"}`,
			want: []string{label, negative}},
		{name: "another", body: `{"handler":"b"}`, old: `{"handler":"a"}`, want: []string{immutable}},
		{name: "another that is not a label", body: `{"handler":"A",` + overhead + `}`, old: `{"handler":"a"}`,
			want: []string{label, negative, immutable}},
		{name: "removed", body: `{` + overhead + `}`, old: `{"handler":"a"}`,
			want: []string{negative, immutable, required}},
	})
}

func TestOverheadRules(t *testing.T) {
	t.Parallel()
	with := func(list string) string { return `{"handler":"a","overhead":{"podFixed":{` + list + `}}}` }
	check(t, []rule{
		{name: "an empty overhead", body: `{"handler":"a","overhead":{}}`},
		{name: "resources of a container",
			body: with(`"cpu":"1500m","memory":"1Gi","hugepages-2Mi":"4Mi","example.com/d":"2"`)},
		{name: "only huge pages", body: with(`"hugepages-2Mi":"3Mi"`), want: []string{
			`overhead.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
			`overhead: Forbidden: HugePages require cpu or memory`}},
		{name: "unknown resources", body: with(`"bananas":"1","pods":"1"`), want: []string{
			`overhead.limits[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified`,
			`overhead.limits[bananas]: Invalid value: "bananas": must be a standard resource for containers`,
			`overhead.limits[pods]: Invalid value: "pods": must be a standard resource for containers`}},
		{name: "a part of a device, and a name of quotas",
			body: with(`"example.com/d":"500m","requests.a.b/c":"1"`),
			want: []string{
				`overhead.limits[example.com/d]: Invalid value: "500m": must be an integer`,
				`overhead.limits[requests.a.b/c]: Invalid value: "requests.a.b/c": doesn't follow extended resource name standard`}},
	})
}

func TestSchedulingRules(t *testing.T) {
	t.Parallel()
	with := func(scheduling string) string { return `{"handler":"a","scheduling":{` + scheduling + `}}` }
	tolerating := func(t string) string { return with(`"tolerations":[` + t + `]`) }
	const at = "scheduling.tolerations[0]."
	check(t, []rule{
		{name: "no scheduling", body: `{"handler":"a","scheduling":{}}`},
		{name: "a node selector", body: with(`"nodeSelector":{"a":"b"}`)},
		{name: "a node selector that selects nothing", body: with(`"nodeSelector":{"/":"","a":"-"}`), want: []string{
			`scheduling.nodeSelector: Invalid value: "/": prefix part must be non-empty`,
			`scheduling.nodeSelector: Invalid value: "/": name part must be non-empty`,
			`scheduling.nodeSelector: Invalid value: "/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end ` +
				`with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			`scheduling.nodeSelector: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end ` +
				`with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
		{name: "tolerations", body: tolerating(`{"key":"a","value":"b","effect":"NoSchedule"},{"operator":"Exists"},
			{"key":"a","operator":"Equal","effect":"NoExecute","tolerationSeconds":5}`)},
		{name: "no key", body: tolerating(`{"value":"b"}`), want: []string{
			at + "operator: Invalid value: \"\": operator must be Exists when `key` is empty, which means \"match all values and all keys\""}},
		{name: "seconds of another effect", body: tolerating(`{"key":"a","effect":"NoSchedule","tolerationSeconds":5}`),
			want: []string{at + "effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set"}},
		{name: "a value that exists", body: tolerating(`{"key":"a","operator":"Exists","value":"b"}`), want: []string{
			at + "operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"}},
		{name: "a number", body: tolerating(`{"key":"a","operator":"Lt","value":"1"}`), want: []string{
			at + `operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"`}},
		{name: "an unknown operator and effect", body: tolerating(`{"key":"a","operator":"Is","effect":"No"}`),
			want: []string{
				at + `operator: Unsupported value: "Is": supported values: "Equal", "Exists"`,
				at + `effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`}},
		{name: "twice the same", body: tolerating(`{"key":"a","effect":"NoExecute","tolerationSeconds":5},
			{"key":"a","effect":"NoExecute","tolerationSeconds":6}`), want: []string{
			`scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"","Value":"","Effect":"NoExecute","TolerationSeconds":6}`}},
	})
}

func TestRuntimeClassWarnings(t *testing.T) {
	t.Parallel()
	k := runtimeClassKind(object.NewCache(1))
	c := read(t, k, `{"handler":"a","scheduling":{"nodeSelector":{"beta.kubernetes.io/os":"linux","a":"b",
		"beta.kubernetes.io/arch":"arm64"}}}`)
	want := []string{
		`scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead`,
		`scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead`,
	}
	if got := k.Warnings(c, c, ""); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
	if got := k.Warnings(read(t, k, `{}`), nil, ""); got != nil {
		t.Errorf("warnings without a node selector: %q", got)
	}
}

func TestRuntimeClassRow(t *testing.T) {
	t.Parallel()
	k := runtimeClassKind(object.NewCache(1))
	row, err := k.Row(read(t, k, `{"metadata":{"name":"gvisor"},"handler":"runsc"}`), "node.k8s.io/v1", time.Now())
	if diff := gocmp.Diff([]any{"gvisor", "runsc", "<unknown>"}, row); err != nil || diff != "" {
		t.Errorf("row (-want +got):\n%s (%v)", diff, err)
	}
}

// TestManyErrorsAreBounded checks that objects with very many invalid elements are not validated to the end.
func TestManyErrorsAreBounded(t *testing.T) {
	t.Parallel()
	const many = 50_000
	c := &nodev1.RuntimeClass{
		Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{}},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{},
			Tolerations: make([]corev1.Toleration, many)},
	}
	for i := range many {
		key := "-" + strconv.Itoa(i)
		c.Overhead.PodFixed[corev1.ResourceName(key)] = resource.Quantity{}
		c.Scheduling.NodeSelector[key] = strings.Repeat("-", 9)
	}
	start := time.Now()
	n := len(runtimeClassKind(object.NewCache(1)).Validate(t.Context(), c, nil, ""))
	if n > 4*maxErrors || time.Since(start) > 10*time.Second {
		t.Errorf("%d errors after %v", n, time.Since(start))
	}
}
