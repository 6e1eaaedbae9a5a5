package resource

import (
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// claim returns a claim with these fields of spec.devices.
func claim(fields ...string) string {
	return `{"spec":{"devices":{` + strings.Join(fields, ",") + `}}}`
}

// exactly returns the requests of a claim: one, with these fields of its only form.
func exactly(fields ...string) string {
	fields = append([]string{`"deviceClassName":"gpu"`}, fields...)
	return `"requests":[{"name":"a","exactly":{` + strings.Join(fields, ",") + `}}]`
}

// firstAvailable returns the requests of a claim: one with alternatives.
func firstAvailable(alternatives ...string) string {
	return `"requests":[{"name":"a","firstAvailable":` + list(alternatives...) + `}]`
}

// TestRequests and the next tests check the rules of ValidateResourceClaim and Validate_ResourceClaim
// (pkg/apis/resource).
func TestRequests(t *testing.T) {
	t.Parallel()
	const at = "spec.devices.requests[0]"
	const either = "exactly one of `exactly` or `firstAvailable` is required"
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "no requests", body: `{}`},
		{name: "one device", body: claim(exactly())},
		{name: "all devices", body: claim(exactly(`"allocationMode":"All"`))},
		{name: "alternatives", body: claim(firstAvailable(`{"name":"b","deviceClassName":"gpu"}`,
			`{"name":"c","deviceClassName":"cpu","count":2}`))},
		{name: "neither form", body: claim(`"requests":[{"name":"a"}]`), want: []string{at + ": Required value: " + either}},
		{name: "both forms", body: claim(`"requests":[{"name":"a","exactly":{"deviceClassName":"c"},"firstAvailable":[{}]}]`),
			want: []string{at + ": Invalid value: null: " + either + ", but multiple fields are set",
				at + ".firstAvailable[0].deviceClassName: Required value"}},
		{name: "names", body: claim(`"requests":[{"name":"A","exactly":{"deviceClassName":"B"}},{"exactly":{}}]`), want: []string{
			at + `.name: Invalid value: "A": ` + labelMessage,
			at + `.exactly.deviceClassName: Invalid value: "B": ` + subdomainMessage,
			`spec.devices.requests[1].name: Invalid value: "": ` + labelMessage,
			"spec.devices.requests[1].exactly.deviceClassName: Required value"}},
		{name: "names of alternatives", body: claim(firstAvailable(`{"name":"B","deviceClassName":"B"}`)), want: []string{
			at + `.firstAvailable[0].name: Invalid value: "B": ` + labelMessage,
			at + `.firstAvailable[0].deviceClassName: Invalid value: "B": ` + subdomainMessage}},
		{name: "too many requests", body: claim(`"requests":` + list(times(33, `{"name":"%"}`)...)),
			want: []string{"spec.devices.requests: Too many: 33: must have at most 32 items"}},
		{name: "too many alternatives", body: claim(firstAvailable(times(9, `{"name":"%"}`)...)),
			want: []string{at + ".firstAvailable: Too many: 9: must have at most 8 items"}},
		{name: "equal alternatives", body: claim(firstAvailable(times(2, `{"name":"b","deviceClassName":"c"}`)...)),
			want: []string{at + `.firstAvailable[1]: Duplicate value: {"name":"b","deviceClassName":"c",` +
				`"allocationMode":"ExactCount","count":1}`}},
		{name: "a count of all devices", body: claim(exactly(`"allocationMode":"All","count":1`)),
			want: []string{at + ".exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'"}},
		{name: "a negative count", body: claim(exactly(`"count":-1`)),
			want: []string{at + ".exactly.count: Invalid value: -1: must be greater than zero"}},
		{name: "an unknown mode", body: claim(exactly(`"allocationMode":"Some"`)),
			want: []string{at + `.exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"`}},
		{name: "a gated field is dropped", body: claim(exactly(`"derivedAttributes":[{"name":"x","expression":""}]`))},
	})
}

func TestTolerations(t *testing.T) {
	t.Parallel()
	const at = "spec.devices.requests[0].exactly.tolerations[0]"
	toleration := func(fields string) string { return claim(exactly(`"tolerations":[{` + fields + `}]`)) }
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "the default operator", body: toleration(`"key":"a/b","value":"c","effect":"NoExecute"`)},
		{name: "everything", body: toleration(`"operator":"Exists"`)},
		{name: "a wrong key and value", body: toleration(`"key":"-","value":"-"`), want: []string{
			at + `.value: Invalid value: "-": ` + labelValueMessage,
			at + `.key: Invalid value: "-": ` + qualifiedMessage}},
		{name: "a value that is not compared", body: toleration(`"operator":"Exists","value":"a"`),
			want: []string{at + ".value: Invalid value: \"a\": must be empty for operator `Exists`"}},
		{name: "unknown names", body: toleration(`"operator":"Is","effect":"PreferNoSchedule"`), want: []string{
			at + `.operator: Unsupported value: "Is": supported values: "Equal", "Exists"`,
			at + `.effect: Unsupported value: "PreferNoSchedule": supported values: "NoExecute", "NoSchedule", "None"`}},
	})
}

func TestConstraintsAndConfig(t *testing.T) {
	t.Parallel()
	const unknown = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
	two := `"requests":[{"name":"a","exactly":{"deviceClassName":"c"}},` +
		`{"name":"b","firstAvailable":[{"name":"x","deviceClassName":"c"}]}]`
	constraint := func(fields string) string { return claim(two, `"constraints":[{`+fields+`}]`) }
	config := func(fields string) string { return claim(two, `"config":[{`+fields+`}]`) }
	const at, conf = "spec.devices.constraints[0]", "spec.devices.config[0]"
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "a match", body: constraint(`"requests":["a","b","b/x"],"matchAttribute":"example.com/model"`)},
		{name: "a difference", body: constraint(`"distinctAttribute":"example.com/model"`)},
		{name: "neither", body: constraint(``), want: []string{at + ": Required value: exactly one of " +
			`"matchAttribute" or "distinctAttribute" is required, but multiple fields are set`}},
		{name: "attributes", body: constraint(`"matchAttribute":"model","distinctAttribute":"Example.com/1"`), want: []string{
			at + `.matchAttribute: Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash`,
			at + `.distinctAttribute: Invalid value: "Example.com": prefix: ` + subdomainMessage,
			at + `.distinctAttribute: Invalid value: "1": ` + identifierMessage}},
		{name: "unknown requests", body: constraint(`"requests":["c","a/x","b/y","a/b/c"],"matchAttribute":"a/b"`),
			want: []string{at + `.requests[0]: Invalid value: "c": ` + unknown,
				at + `.requests[1]: Invalid value: "a/x": ` + unknown, at + `.requests[2]: Invalid value: "b/y": ` + unknown,
				at + `.requests[3]: Invalid value: "a/b/c": ` + unknown}},
		{name: "no name", body: constraint(`"requests":["b/"],"matchAttribute":"a/b"`), want: []string{
			at + `.requests[0]: Invalid value: "": ` + labelMessage, at + `.requests[0]: Invalid value: "b/": ` + unknown}},
		{name: "equal requests", body: constraint(`"requests":["a","a"],"matchAttribute":"a/b"`),
			want: []string{at + `.requests[1]: Duplicate value: "a"`}},
		{name: "too many constraints", body: claim(two, `"constraints":`+list(times(33, `{}`)...)),
			want: []string{"spec.devices.constraints: Too many: 33: must have at most 32 items"}},

		{name: "parameters", body: config(`"requests":["b/x"],"opaque":{"driver":"Example.com","parameters":{"a":1}}`)},
		{name: "no parameters", body: config(`"opaque":{"driver":""}`), want: []string{
			conf + ".opaque.parameters: Required value", conf + ".opaque.driver: Required value"}},
		{name: "nothing", body: config(``), want: []string{conf + ".opaque: Required value"}},
		{name: "parameters that are no object", body: config(`"opaque":{"driver":"d_d","parameters":[1]}`), want: []string{
			conf + `.opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object`,
			conf + `.opaque.driver: Invalid value: "d_d": an RFC 1123 subdomain must consist of alphanumeric characters, '-' or ` +
				`'.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is ` +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{name: "long parameters", body: config(`"opaque":{"driver":"` + strings.Repeat("d", 64) + `","parameters":{"a":"` +
			strings.Repeat("b", 10<<10) + `"}}`), want: []string{
			conf + ".opaque.parameters: Too long: may not be more than 10240 bytes",
			conf + ".opaque.driver: Too long: may not be more than 63 characters"}},
	})
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	const at = "spec.devices.requests[0].exactly.selectors[0].cel"
	selector := func(expressions ...string) string {
		for i, e := range expressions {
			expressions[i] = `{"cel":{"expression":` + strconv.Quote(e) + `}}`
		}
		return claim(exactly(`"selectors":` + list(expressions...)))
	}
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "a driver", body: selector(`device.driver == "gpu.example.com"`)},
		{name: "an attribute", body: selector(`device.attributes["example.com"].fast`)},
		{name: "a version", body: selector(
			`device.attributes["example.com"].v.isGreaterThan(semver("1.0.0")) && device.allowMultipleAllocations`)},
		{name: "a capacity", body: selector(
			`cel.bind(c, device.capacity["example.com"], c.memory.compareTo(quantity("1Gi")) >= 0)`)},
		{name: "no expression", body: claim(exactly(`"selectors":[{}]`)), want: []string{at + ": Required value"}},
		{name: "a syntax error", body: selector(`device.`), want: []string{at + `.expression: Invalid value: "device.": ` +
			"compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | device.\n | .......^"}},
		{name: "a wrong type", body: selector(`device.attributes[true].fast`), want: []string{at +
			`.expression: Invalid value: "device.attributes[true].fast": compilation failed: ERROR: <input>:1:18: found no ` +
			"matching overload for '_[_]' applied to '(map(string, map(string, any)), bool)'\n" +
			" | device.attributes[true].fast\n | .................^"}},
		{name: "not a condition", body: selector(`device.driver`), want: []string{at +
			`.expression: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string`}},
		{name: "costly", body: selector(`device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, ` +
			`device.attributes.all(d, device.attributes[d].all(e, e == a + b + c)))))`),
			want: []string{at + ".expression: Forbidden: too complex, exceeds cost limit"}},
		{name: "long", body: selector(strings.Repeat("a", 10<<10+1)),
			want: []string{at + ".expression: Too long: may not be more than 10240 bytes"}},
		{name: "too many", body: selector(times(33, `true`)...),
			want: []string{"spec.devices.requests[0].exactly.selectors: Too many: 33: must have at most 32 items"}},
		{name: "too much to compile", body: claim(`"requests":` + list(times(9, `{"name":"%","exactly":{"deviceClassName":"c",`+
			`"selectors":[{"cel":{"expression":"'%' != ''`+strings.Repeat(" ", 5_000)+`"}}]}}`)...)), want: []string{
			"spec.devices: Invalid value: the CEL expressions are too many or too long to compile, or their types too " +
				"large: they cost 227250900, and may cost 200000000"}},
	})
}

func TestClaimUpdates(t *testing.T) {
	t.Parallel()
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "labels", old: claim(exactly()), body: `{"metadata":{"labels":{"a":"b"}},"spec":{"devices":{` + exactly() + `}}}`},
		{name: "the spec", old: claim(exactly()), body: claim(exactly(`"count":2`)),
			want: []string{"spec: Invalid value: null: field is immutable"}},
		{name: "an invalid spec that remains", old: claim(`"requests":[{}]`), body: claim(`"requests":[{}]`)},
	})
}

func TestClaimDefaults(t *testing.T) {
	t.Parallel()
	k := resourceClaimKind(object.NewCache(1))
	got := read(t, k, claim(`"requests":[{"exactly":{"tolerations":[{}]}},{"exactly":{"allocationMode":"All"}},`+
		`{"firstAvailable":[{"tolerations":[{}]}]}]`)).(*resourcev1.ResourceClaim).Spec.Devices.Requests
	want := []resourcev1.DeviceRequest{
		{Exactly: &resourcev1.ExactDeviceRequest{AllocationMode: "ExactCount", Count: 1,
			Tolerations: []resourcev1.DeviceToleration{{Operator: "Equal"}}}},
		{Exactly: &resourcev1.ExactDeviceRequest{AllocationMode: "All"}},
		{FirstAvailable: []resourcev1.DeviceSubRequest{{AllocationMode: "ExactCount", Count: 1,
			Tolerations: []resourcev1.DeviceToleration{{Operator: "Equal"}}}}},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestClaimState(t *testing.T) {
	t.Parallel()
	k := resourceClaimKind(object.NewCache(1))
	for body, want := range map[string]string{
		`{}`: "pending",
		`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`:                               "deleted",
		`{"status":{"allocation":{}}}`:                                                            "allocated",
		`{"status":{"allocation":{},"reservedFor":[{"uid":"a"}]}}`:                                "allocated,reserved",
		`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"allocation":{}}}`:    "deleted,allocated",
		`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"reservedFor":[{}]}}`: "deleted",
	} {
		if got := claimState(read(t, k, body).(*resourcev1.ResourceClaim)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestClaimTemplates checks the rules of ValidateResourceClaimTemplate.
func TestClaimTemplates(t *testing.T) {
	t.Parallel()
	template := func(meta, devices string) string {
		return `{"spec":{"metadata":{` + meta + `},"spec":{"devices":{` + devices + `}}}}`
	}
	check(t, resourceClaimTemplateKind(object.NewCache(1)), []rule{
		{name: "a template", body: template(`"labels":{"a":"b"},"annotations":{"c":"d"}`, exactly())},
		{name: "metadata", body: template(`"name":"a","generateName":"b","labels":{"a":"-"}`, exactly()), want: []string{
			`spec.metadata.labels: Invalid value: "-": ` + labelValueMessage,
			"spec.metadata.name: Forbidden: cannot be set", "spec.metadata.generateName: Forbidden: cannot be set"}},
		{name: "a request", body: template(``, `"requests":[{"name":"a"}]`), want: []string{"spec.spec.devices.requests[0]: " +
			"Required value: exactly one of `exactly` or `firstAvailable` is required"}},
		{name: "a new label", old: template(``, exactly()),
			body: `{"metadata":{"labels":{"a":"b"}},` + template(``, exactly())[1:]},
		{name: "another spec", old: template(``, exactly()),
			body: template(`"labels":{"a":"b"}`, exactly(`"count":2`)+`,"config":[{"opaque":{"driver":"d","parameters":{"a":1}}}]`),
			want: []string{`spec: Invalid value: {"labels":{"a":"b"},"Spec":{"Devices":{"Requests":[{"Name":"a","Exactly":` +
				`{"DeviceClassName":"gpu","Selectors":null,"AllocationMode":"ExactCount","Count":2,"AdminAccess":null,` +
				`"Tolerations":null,"Capacity":null,"DerivedAttributes":null},"FirstAvailable":null}],"Constraints":null,` +
				`"Config":[{"Requests":null,"Opaque":{"Driver":"d","Parameters":{"a":1}}}]}}}: field is immutable`}},
	})
}

// TestEqualSelectorsAreCompiledOnce checks that only different expressions count as costs.
func TestEqualSelectorsAreCompiledOnce(t *testing.T) {
	t.Parallel()
	selector := `{"cel":{"expression":"true` + strings.Repeat(" ", 9_000) + `"}}`
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "equal selectors", body: claim(exactly(`"selectors":` + list(times(32, selector)...)))},
	})
}
