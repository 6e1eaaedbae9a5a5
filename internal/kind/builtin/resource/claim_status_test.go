package resource

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

const shareID = "0a1b2c3d-0000-4000-8000-000000000000"

// result returns an allocated device d1 of driver d and pool p for the request a, with more fields.
func result(more string) string {
	return `{"request":"a","driver":"d","pool":"p","device":"d1"` + more + `}`
}

// allocation returns an allocation of these devices.
func allocation(results ...string) string {
	return `"allocation":{"devices":{"results":` + list(results...) + `}}`
}

// status returns a claim with one request, a, and these fields of its status.
func status(fields ...string) string {
	spec := claim(exactly())
	return spec[:len(spec)-1] + `,"status":{` + strings.Join(fields, ",") + `}}`
}

// TestAllocations and the next tests check the rules of ValidateResourceClaimStatusUpdate
// (pkg/apis/resource/validation).
func TestAllocations(t *testing.T) {
	t.Parallel()
	const at = "status.allocation.devices.results[0]"
	const pair = `,"bindingConditions":["a","b"],"bindingFailureConditions":["c"]`
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "no change", sub: "status", old: status(), body: status()},
		{name: "a device", sub: "status", old: status(), body: status(allocation(
			result(`,"shareID":"` + shareID + `","tolerations":[{"key":"a"}]` + pair)))},
		{name: "a configuration", sub: "status", old: status(), body: status(`"allocation":{"devices":{"config":[` +
			`{"source":"FromClass","requests":["a"],"opaque":{"driver":"d","parameters":{}}}]}}`)},
		{name: "no allocation", sub: "status", old: status(allocation(result(``))), body: status()},
		{name: "another allocation", sub: "status", old: status(allocation(result(``))),
			body: status(allocation(result(`,"adminAccess":true`))),
			want: []string{"status.allocation: Invalid value: null: field cannot be modified once set"}},
		{name: "an old allocation", sub: "status", old: status(allocation(`{}`)), body: status(allocation(`{}`))},
		{name: "names", sub: "status", old: status(), body: status(allocation(
			`{"request":"b","driver":"","pool":"p//P","device":"D","shareID":"A"}`)), want: []string{
			at + `.request: Invalid value: "b": must be the name of a request in the claim or the name of a request and a ` +
				"subrequest separated by '/'",
			at + `.device: Invalid value: "D": ` + labelMessage,
			at + ".driver: Required value",
			at + `.pool: Invalid value: "p//P": segment 1: must not be empty`,
			at + `.pool: Invalid value: "P": segment 2: ` + subdomainMessage,
			at + `.shareID: Invalid value: "A": must be a lowercase UUID in 8-4-4-4-12 format`}},
		{name: "a toleration", sub: "status", old: status(), body: status(allocation(
			result(`,"tolerations":[{"operator":"Is","value":"-"}]`))), want: []string{
			at + `.tolerations[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"`}},
		{name: "no failures", sub: "status", old: status(), body: status(allocation(result(`,"bindingConditions":["a"]`))),
			want: []string{at + ".bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions"}},
		{name: "only failures", sub: "status", old: status(), body: status(allocation(
			result(`,"bindingFailureConditions":["a"]`))), want: []string{at +
			".bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions"}},
		{name: "equal conditions", sub: "status", old: status(), body: status(allocation(
			result(`,"bindingConditions":["a","a","-"],"bindingFailureConditions":["b","b","a"]`))), want: []string{
			at + `.bindingConditions[2]: Invalid value: "-": ` + qualifiedMessage,
			at + `.bindingConditions[1]: Duplicate value: "a"`,
			at + `.bindingFailureConditions[1]: Duplicate value: "b"`,
			at + `.bindingFailureConditions[2]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions`}},
		{name: "too many conditions", sub: "status", old: status(), body: status(allocation(
			result(`,"bindingConditions":["-","b","c","d","e"],"bindingFailureConditions":["f"]`))),
			want: []string{at + ".bindingConditions: Too many: 5: must have at most 4 items"}},
		{name: "too many devices", sub: "status", old: status(), body: status(allocation(times(33, `{}`)...)),
			want: []string{"status.allocation.devices.results: Too many: 33: must have at most 32 items"}},
		{name: "a wrong configuration", sub: "status", old: status(), body: status(`"allocation":{"devices":{"config":[` +
			`{"requests":["a","a"]},{"source":"x"}]}}`), want: []string{
			"status.allocation.devices.config[0].opaque: Required value", "status.allocation.devices.config[1].opaque: Required value",
			"status.allocation.devices.config[0].source: Required value",
			`status.allocation.devices.config[0].requests[1]: Duplicate value: "a"`,
			`status.allocation.devices.config[1].source: Unsupported value: "x": supported values: "FromClaim", "FromClass"`}},
		{name: "no nodes", sub: "status", old: status(), body: status(`"allocation":{"nodeSelector":{"nodeSelectorTerms":[]}}`),
			want: []string{"status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term"}},
		{name: "a gated field is dropped", sub: "status", old: status(),
			body: status(allocation(result(`,"skipNodeOperations":["x"]`)))},
	})
}

func TestReservations(t *testing.T) {
	t.Parallel()
	const pod, other = `{"resource":"pods","name":"a","uid":"1"}`, `{"resource":"pods","name":"b","uid":"2"}`
	reserved := func(consumers ...string) string { return `"reservedFor":` + list(consumers...) }
	deleted := func(body string) string {
		return `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},` + body[1:]
	}
	given := allocation(result(``))
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "a pod", sub: "status", old: status(), body: status(given, reserved(pod))},
		{name: "without an allocation", sub: "status", old: status(), body: status(reserved(pod)),
			want: []string{"status.reservedFor: Forbidden: may not be specified when `allocated` is not set"}},
		{name: "nobody", sub: "status", old: status(), body: status(given, reserved(`{}`)), want: []string{
			"status.reservedFor[0].resource: Required value", "status.reservedFor[0].name: Required value",
			"status.reservedFor[0].uid: Required value"}},
		{name: "one pod twice", sub: "status", old: status(), body: status(given, reserved(pod, pod)),
			want: []string{`status.reservedFor[1]: Duplicate value: {"resource":"pods","name":"a","uid":"1"}`}},
		{name: "too many pods", sub: "status", old: status(), body: status(given, reserved(times(257, pod)...)),
			want: []string{"status.reservedFor: Too many: 257: must have at most 256 items"}},
		{name: "one pod less of a deleted claim", sub: "status", old: deleted(status(given, reserved(pod, other))),
			body: deleted(status(given, reserved(pod)))},
		{name: "one pod more of a deleted claim", sub: "status", old: deleted(status(given, reserved(pod))),
			body: deleted(status(given, reserved(pod, other))), want: []string{"status.reservedFor: Forbidden: new entries may not " +
				"be added while `deallocationRequested` or `deletionTimestamp` are set"}},
	})
}

func TestDeviceStatus(t *testing.T) {
	t.Parallel()
	const at = "status.devices[0]"
	device := func(fields ...string) string {
		fields = append([]string{`"driver":"d","pool":"p","device":"d1"`}, fields...)
		return status(allocation(result(``)), `"devices":[{`+strings.Join(fields, ",")+`}]`)
	}
	const good = `{"type":"a","status":"True","reason":"b","lastTransitionTime":"2026-01-01T00:00:00Z"}`
	check(t, resourceClaimKind(object.NewCache(1)), []rule{
		{name: "a device", sub: "status", old: status(), body: device(`"data":{"a":1},"conditions":[` + good +
			`],"networkData":{"interfaceName":"eth0","ips":["10.0.0.1/8"],"hardwareAddress":"a"}`)},
		{name: "a share", sub: "status", old: status(), body: status(allocation(result(`,"shareID":"`+shareID+`"`)),
			`"devices":[{"driver":"d","pool":"p","device":"d1","shareID":"`+shareID+`"}]`)},
		{name: "a device that is not allocated", sub: "status", old: status(),
			body: status(allocation(result(``)), `"devices":[{"driver":"d","pool":"p","device":"d2","shareID":"x"}]`),
			want: []string{at + `: Invalid value: {"Driver":"d","Pool":"p","Device":"d2","ShareID":"x"}: must be an allocated ` +
				"device in the claim", at + `.shareID: Invalid value: "x": must be a lowercase UUID in 8-4-4-4-12 format`}},
		{name: "names", sub: "status", old: status(), body: status(`"devices":[{"driver":"d_d","pool":"","device":""}]`),
			want: []string{at + `.driver: Invalid value: "d_d": ` + subdomainMessage, at + ".pool: Required value",
				at + `.device: Invalid value: "": ` + labelMessage, at + `: Invalid value: {"Driver":"d_d","Pool":"","Device":"",` +
					`"ShareID":""}: must be an allocated device in the claim`}},
		{name: "one device twice", sub: "status", old: status(), body: status(allocation(result(``)),
			`"devices":[{"driver":"d","pool":"p","device":"d1"},{"driver":"d","pool":"p","device":"d1"}]`),
			want: []string{`status.devices[1]: Duplicate value: {"driver":"d","pool":"p","device":"d1","conditions":null}`}},
		{name: "data", sub: "status", old: status(), body: device(`"data":[1]`),
			want: []string{at + `.data: Invalid value: "<value omitted>": must be a valid JSON object`}},
		{name: "long data", sub: "status", old: status(), body: device(`"data":{"a":"` + strings.Repeat("b", 10<<10) + `"}`),
			want: []string{at + ".data: Too long: may not be more than 10240 bytes"}},
		{name: "a condition", sub: "status", old: status(), body: device(`"conditions":[{"type":"a","status":"Yes","reason":"b",` +
			`"lastTransitionTime":"2026-01-01T00:00:00Z"}]`),
			want: []string{at + `.conditions[0].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"`}},
		{name: "too many conditions", sub: "status", old: status(), body: device(`"conditions":` +
			list(times(9, strings.Replace(good, `"a"`, `"%"`, 1))...)),
			want: []string{at + ".conditions: Too many: 9: must have at most 8 items"}},
		{name: "a network", sub: "status", old: status(), body: device(`"networkData":{"interfaceName":"` +
			strings.Repeat("e", 257) + `","ips":["10.0.0.1","10.0.0.1"],"hardwareAddress":"` + strings.Repeat("a", 129) + `"}`),
			want: []string{
				at + `.networkData.ips[0]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)`,
				at + `.networkData.ips[1]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)`,
				at + ".networkData.interfaceName: Too long: may not be more than 256 bytes",
				at + `.networkData.ips[1]: Duplicate value: "10.0.0.1"`,
				at + ".networkData.hardwareAddress: Too long: may not be more than 128 bytes"}},
		{name: "too many addresses", sub: "status", old: status(),
			body: device(`"networkData":{"ips":` + list(times(17, `"%"`)...) + `}`),
			want: []string{at + ".networkData.ips: Too many: 17: must have at most 16 items"}},
	})
}

// TestDeallocationDropsDeviceStatus checks that a write drops the status of each device that it deallocates. The status
// of a device that was never allocated is an error.
func TestDeallocationDropsDeviceStatus(t *testing.T) {
	t.Parallel()
	k := resourceClaimKind(object.NewCache(1))
	const devices = `"devices":[{"driver":"d","pool":"p","device":"d1"},{"driver":"d","pool":"p","device":"d2"}]`
	old, obj := read(t, k, status(allocation(result(``)), devices)), read(t, k, status(devices))
	k.Prepare(obj, old, "status")
	want := []resourcev1.AllocatedDeviceStatus{{Driver: "d", Pool: "p", Device: "d2"}}
	if diff := gocmp.Diff(want, obj.(*resourcev1.ResourceClaim).Status.Devices); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}
