package resource

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

const pool = `"pool":{"name":"p","resourceSliceCount":1}`

// slice returns a slice of driver d and pool p with these fields of its spec.
func slice(fields ...string) string {
	return `{"spec":{"driver":"d",` + pool + `,` + strings.Join(fields, ",") + `}}`
}

// devices returns a slice for all nodes with these devices.
func devices(all ...string) string { return slice(`"allNodes":true`, `"devices":`+list(all...)) }

// TestSlices and the next tests check the rules of ValidateResourceSlice and Validate_ResourceSlice
// (pkg/apis/resource).
func TestSlices(t *testing.T) {
	t.Parallel()
	const oneOf = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	const terms = `"nodeSelector":{"nodeSelectorTerms":`
	check(t, resourceSliceKind(object.NewCache(1)), []rule{
		{name: "a node", body: slice(`"nodeName":"n"`)},
		{name: "some nodes", body: slice(terms + `[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}],` +
			`"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["c"]}]}]}`)},
		{name: "nothing", body: `{}`, want: []string{"spec.driver: Required value", "spec.pool.name: Required value",
			"spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero", "spec: Required value: " + oneOf}},
		{name: "a pool", body: `{"spec":{"driver":"D","allNodes":true,"pool":{"name":"` + strings.Repeat("a", 254) +
			`","generation":-1,"resourceSliceCount":1}}}`, want: []string{
			"spec.pool.name: Too long: may not be more than 253 bytes",
			`spec.pool.name: Invalid value: "` + strings.Repeat("a", 254) + `": must be no more than 253 characters`,
			"spec.pool.generation: Invalid value: -1: must be greater than or equal to zero"}},
		{name: "false and empty", body: slice(`"nodeName":"","allNodes":false,"perDeviceNodeSelection":false`), want: []string{
			`spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string`,
			"spec.allNodes: Invalid value: false: must be either unset or set to true",
			"spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true",
			"spec: Required value: " + oneOf}},
		{name: "two forms", body: slice(`"nodeName":"N","allNodes":true`), want: []string{
			`spec.nodeName: Invalid value: "N": ` + subdomainMessage,
			"spec: Invalid value: \"{`nodeName`, `allNodes`}\": " + oneOf + ", but multiple fields are set"}},
		{name: "two terms", body: slice(terms + `[{},{"matchFields":[{"key":"a","operator":"Is","values":null}]}]}`), want: []string{
			`spec.nodeSelector.nodeSelectorTerms[1].matchFields[0].operator: Invalid value: "Is": not a valid selector operator`,
			`spec.nodeSelector.nodeSelectorTerms[1].matchFields[0].key: Invalid value: "a": not a valid field selector key`,
			`spec.nodeSelector.nodeSelectorTerms: Invalid value: [{"MatchExpressions":null,"MatchFields":null},{"MatchExpressions":` +
				`null,"MatchFields":[{"Key":"a","Operator":"Is","Values":null}]}]: must have exactly one node selector term`}},
		{name: "devices and counters", body: slice(`"allNodes":true,"devices":[],"sharedCounters":[]`),
			want: []string{"spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"}},
		{name: "immutable fields", old: slice(`"nodeName":"n"`), body: `{"spec":{"driver":"e","pool":{"name":"q",` +
			`"resourceSliceCount":1},"nodeName":"m"}}`, want: []string{
			`spec.pool.name: Invalid value: "q": field is immutable`, `spec.driver: Invalid value: "e": field is immutable`,
			`spec.nodeName: Invalid value: "m": field is immutable`}},
		{name: "gated fields are dropped", body: slice(`"allNodes":true,"partitionTypeAttribute":"x","skipNodeOperations":["x"]`,
			`"devices":[{"name":"a","nodeAllocatableResources":{"x":{}},"consumesCounters":[{"counterSet":"s",`+
				`"counters":{"c":{"value":"1"}},"compatibilityGroups":["-"]}]}]`)},
	})
}

func TestNodeSelectors(t *testing.T) {
	t.Parallel()
	const at = "spec.nodeSelector.nodeSelectorTerms[0]."
	terms := func(fields string) string { return slice(`"nodeSelector":{"nodeSelectorTerms":[{` + fields + `}]}`) }
	label := func(fields string) string { return terms(`"matchExpressions":[{` + fields + `}]`) }
	check(t, resourceSliceKind(object.NewCache(1)), []rule{
		{name: "no values", body: label(`"key":"a","operator":"In"`), want: []string{
			at + "matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"}},
		{name: "values of nothing", body: label(`"key":"a","operator":"Exists","values":["b"]`), want: []string{at +
			"matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"}},
		{name: "two numbers", body: label(`"key":"a","operator":"Gt","values":["1","2"]`), want: []string{at +
			"matchExpressions[0].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"}},
		{name: "no label", body: label(`"key":"-","operator":"Is","values":["-"]`), want: []string{
			at + `matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator`,
			at + `matchExpressions[0].key: Invalid value: "-": ` + qualifiedMessage,
			at + `matchExpressions[0].values[0]: Invalid value: "-": ` + labelValueMessage}},
		{name: "names", body: terms(`"matchFields":[{"key":"metadata.name","operator":"In","values":["a","B"]}]`), want: []string{
			at + "matchFields[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
			at + `matchFields[0].values[1]: Invalid value: "B": ` + subdomainMessage}},
	})
}

func TestDevices(t *testing.T) {
	t.Parallel()
	const at = "spec.devices[0]"
	const taint = `{"key":"a","effect":"None"}`
	many := func(n int, more string) string { return devices(times(n, `{"name":"%"`+more+`}`)...) }
	check(t, resourceSliceKind(object.NewCache(1)), []rule{
		{name: "devices", body: devices(`{"name":"a"}`, `{"name":"b","taints":[`+taint+`],"bindsToNode":true}`)},
		{name: "names", body: devices(`{"name":"A"}`, `{"name":"b"}`, `{"name":"b"}`), want: []string{
			at + `.name: Invalid value: "A": ` + labelMessage, `spec.devices[2]: Duplicate value: "b"`}},
		{name: "many", body: many(128, ``)},
		{name: "too many", body: many(129, ``), want: []string{"spec.devices: Too many: 129: must have at most 128 items"}},
		{name: "too many with taints", body: many(65, `,"taints":[`+taint+`]`),
			want: []string{"spec.devices: Too many: 65: must have at most 64 items"}},
		{name: "taints", body: devices(`{"name":"a","taints":[{"key":"-","effect":"x"}]}`), want: []string{
			at + `.taints[0].key: Invalid value: "-": ` + qualifiedMessage,
			at + `.taints[0].effect: Unsupported value: "x": supported values: "NoExecute", "NoSchedule", "None"`}},
		{name: "too many taints", body: devices(`{"name":"a","taints":` + list(times(17, taint)...) + `}`),
			want: []string{at + ".taints: Too many: 17: must have at most 16 items"}},
		{name: "taints that remain", old: devices(`{"name":"a","taints":[{"key":"-","effect":"x"}]}`),
			body: devices(`{"name":"a","taints":[{"key":"-","effect":"x","timeAdded":null}]}`)},
		{name: "conditions", body: devices(`{"name":"a","bindingConditions":["x"]}`), want: []string{at +
			".bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions"}},
		{name: "nodes of a device", body: devices(`{"name":"a","nodeName":"n"}`), want: []string{at + ": Invalid value: null: " +
			"`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"}},
	})
}

func TestDeviceNodes(t *testing.T) {
	t.Parallel()
	const oneOf = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is " +
		"set to true in the ResourceSlice spec"
	device := func(fields string) string {
		return slice(`"perDeviceNodeSelection":true,"devices":[{"name":"a"` + fields + `}]`)
	}
	check(t, resourceSliceKind(object.NewCache(1)), []rule{
		{name: "a node", body: device(`,"nodeName":"n"`)},
		{name: "all nodes", body: device(`,"allNodes":true`)},
		{name: "no nodes", body: device(``), want: []string{"spec.devices[0]: Required value: " + oneOf}},
		{name: "false and empty", body: device(`,"nodeName":"","allNodes":false`), want: []string{
			`spec.devices[0].nodeName: Invalid value: "": must not be empty`,
			"spec.devices[0].allNodes: Invalid value: false: must be either unset or set to true",
			"spec.devices[0]: Required value: " + oneOf}},
		{name: "two forms", body: device(`,"allNodes":true,"nodeSelector":{}`), want: []string{
			"spec.devices[0].nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
			"spec.devices[0]: Invalid value: \"{`nodeSelector`, `allNodes`}\": " + oneOf}},
	})
}

func TestAttributesAndCounters(t *testing.T) {
	t.Parallel()
	const at, forms = "spec.devices[0].attributes", "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"
	attributes := func(fields string) string { return devices(`{"name":"a","attributes":{` + fields + `}}`) }
	consumes := func(sets ...string) string { return devices(`{"name":"a","consumesCounters":` + list(sets...) + `}`) }
	counters := func(n int) string {
		return `{` + strings.Join(times(n, `"%":{"value":"1"}`), ",") + `}`
	}
	entries := strings.Join(times(49, `"%":{"int":1}`), ",")
	check(t, resourceSliceKind(object.NewCache(1)), []rule{
		{name: "attributes", body: attributes(`"a":{"int":1},"example.com/b":{"version":"1.2.3-rc.1+5"},"c":{"string":""}`)},
		{name: "names", body: attributes(`"1":{"int":1},"/a":{"int":1},"b_b/":{"int":1},"c/d/e":{"int":1},"` +
			strings.Repeat("f", 33) + `":{"int":1}`), want: []string{
			at + `: Invalid value: "": the domain must not be empty`,
			at + `: Invalid value: "1": ` + identifierMessage,
			at + `: Invalid value: "b_b": ` + subdomainMessage, at + `: Invalid value: "": the name must not be empty`,
			at + ": Too long: may not be more than 32 bytes"}},
		{name: "values", body: attributes(`"a":{},"b":{"int":1,"string":"` + strings.Repeat("x", 65) + `"},"c":{"version":"1.0"},` +
			`"d":{"ints":[1]}`), want: []string{
			at + "[b].string: Too long: may not be more than 64 bytes",
			at + `[c].version: Invalid value: "1.0": must be a string compatible with semver.org spec 2.0.0`,
			at + `[a]: Invalid value: "": must specify one of: ` + forms,
			at + `[b]: Invalid value: "{int, string}": must specify exactly one of: ` + forms,
			at + `[d]: Invalid value: "": must specify one of: ` + forms}},
		{name: "too many attributes", body: attributes(entries), want: []string{
			"spec.devices[0]: Invalid value: 49: the total number of attributes and capacities must not exceed 32",
			"spec.devices[0]: Invalid value: 49: the total number of attribute values must not exceed 48"}},

		{name: "counters", body: slice(`"allNodes":true,"sharedCounters":[{"name":"s","counters":` + counters(32) + `}]`)},
		{name: "no counters", body: slice(`"allNodes":true,"sharedCounters":[{},{"name":"S","counters":{"-":{"value":"1"}}}]`),
			want: []string{"spec.sharedCounters[0].name: Required value", "spec.sharedCounters[0].counters: Required value",
				`spec.sharedCounters[1].name: Invalid value: "S": ` + labelMessage,
				`spec.sharedCounters[1].counters: Invalid value: "-": ` + labelMessage}},
		{name: "too many counters", body: slice(`"allNodes":true,"sharedCounters":[{"name":"s","counters":` + counters(33) + `}]`),
			want: []string{"spec.sharedCounters[0].counters: Too many: 33: must have at most 32 items"}},
		{name: "too many sets", body: slice(`"allNodes":true,"sharedCounters":` + list(times(9, `{}`)...)),
			want: []string{"spec.sharedCounters: Too many: 9: must have at most 8 items"}},
		{name: "consumption", body: consumes(`{"counterSet":"s","counters":` + counters(32) + `}`)},
		{name: "consumption of one set", body: consumes(times(2, `{"counterSet":"s","counters":{"c":{"value":"1"}}}`)...), want: []string{
			`spec.devices[0].consumesCounters[1]: Duplicate value: {"counterSet":"s","counters":{"c":{"value":"1"}}}`}},
		{name: "consumption of nothing", body: consumes(`{}`), want: []string{
			"spec.devices[0].consumesCounters[0].counterSet: Required value",
			"spec.devices[0].consumesCounters[0].counters: Required value"}},
		{name: "consumption of too many sets", body: consumes(times(3, `{}`)...),
			want: []string{"spec.devices[0].consumesCounters: Too many: 3: must have at most 2 items"}},
	})
}

func TestSliceGenerationsFieldsAndWarnings(t *testing.T) {
	t.Parallel()
	k := resourceSliceKind(object.NewCache(1))
	old, same, other := read(t, k, slice(`"nodeName":"n"`)), read(t, k, slice(`"nodeName":"n"`)),
		read(t, k, strings.Replace(slice(`"allNodes":true`), `"d"`, `"D"`, 1))
	k.Prepare(old, nil, "")
	k.Prepare(same, old, "")
	k.Prepare(other, old, "")
	if got := [3]int64{old.GetGeneration(), same.GetGeneration(), other.GetGeneration()}; got != [3]int64{1, 1, 2} {
		t.Errorf("generations %v", got)
	}
	want := map[string]string{"spec.nodeName": "n", "spec.driver": "d", "spec.pool.name": "p"}
	if diff := gocmp.Diff(want, k.Fields(old)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	for field := range want {
		if _, ok := k.Info().Endpoints[0].Selectable[field]; !ok {
			t.Errorf("%s is not selectable", field)
		}
	}
	warning := []string{`spec.driver: driver names should be lowercase; "D" contains uppercase characters`}
	if diff := gocmp.Diff(warning, k.Warnings(other, nil, "")) + gocmp.Diff([]string(nil), k.Warnings(old, nil, "")); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	tainted := read(t, k, devices(`{"taints":[{"key":"a"}]}`)).(*resourcev1.ResourceSlice)
	if tainted.Spec.Devices[0].Taints[0].TimeAdded == nil {
		t.Error("a taint has no time")
	}
}
