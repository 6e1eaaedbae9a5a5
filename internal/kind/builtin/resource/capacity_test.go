package resource

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestCapacities checks the rules of validateMultiAllocatableDeviceCapacity and validateSingleAllocatableDeviceCapacity
// (pkg/apis/resource/validation).
func TestCapacities(t *testing.T) {
	t.Parallel()
	const at = "spec.devices[0].capacity[c].requestPolicy"
	device := func(shared, policy string) string {
		return devices(`{"name":"a","allowMultipleAllocations":` + shared + `,"capacity":{"c":{"value":"10","requestPolicy":{` +
			policy + `}}}}`)
	}
	values := func(byDefault, all string) string {
		return device("true", `"default":"`+byDefault+`","validValues":[`+all+`]`)
	}
	between := func(byDefault, fields string) string {
		return device("true", `"default":"`+byDefault+`","validRange":{`+fields+`}`)
	}
	check(t, resourceSliceKind(object.NewCache(1)), []rule{
		{name: "a plain capacity", body: devices(`{"name":"a","capacity":{"example.com/c":{"value":"1Gi"}}}`)},
		{name: "a name", body: devices(`{"name":"a","capacity":{"1":{"value":"1"}}}`),
			want: []string{`spec.devices[0].capacity: Invalid value: "1": ` + identifierMessage}},
		{name: "a policy of one user", body: device("false", ``), want: []string{at + ": Forbidden: allowMultipleAllocations must be true"}},
		{name: "a policy that remains", old: device("false", ``), body: device("false", ``)},
		{name: "no rule", body: device("true", ``)},
		{name: "two rules", body: device("true", `"validValues":["1"],"validRange":{}`), want: []string{at + ": Forbidden: exactly one " +
			`policy can be specified, cannot specify "validValues" and "validRange" at the same time`}},
		{name: "no default", body: device("true", `"validValues":["1"]`),
			want: []string{at + ".default: Required value: required when validValues is defined"}},
		{name: "no default of a range", body: device("true", `"validRange":{}`),
			want: []string{at + ".default: Required value: required when validRange is defined"}},

		{name: "values", body: values("2", `"1","2","1.5","10"`), want: []string{
			at + `.validValues[2]: Invalid value: "1500m": values must be sorted in ascending order`}},
		{name: "large and equal values", body: values("3", `"1","1","11"`), want: []string{
			at + `.validValues[2]: Invalid value: "11": option is larger than capacity value: 10`,
			at + `.validValues[1]: Duplicate value: "1"`,
			at + `.validValues: Invalid value: "3": default value is not valid according to the requestPolicy`}},
		{name: "too many values", body: values("1", `"1","1","1","1","1","1","1","1","1","1","1"`), want: []string{
			at + ".validValues: Too many: 11: must have at most 10 items",
			at + `.validValues: Invalid value: "1": default value is not valid according to the requestPolicy`}},

		{name: "a range", body: between("2", `"min":"2","max":"10","step":"4"`)},
		{name: "fractions", body: between("500m", `"min":"500m","max":"2","step":"250m"`)},
		{name: "a whole range with a fraction as the default", body: between("1.5", `"min":"1","step":"1"`), want: []string{
			at + ".validRange.step: Invalid value: \"1500m\": value is not a multiple of a given step (1) from (1)"}},
		{name: "no minimum", body: between("2", ``), want: []string{at + ".validRange.min: Required value: required when validRange is defined"}},
		{name: "a large minimum", body: between("1", `"min":"12","max":"11"`), want: []string{
			at + `.validRange.min: Invalid value: "12": min is larger than capacity value: 10`,
			at + `.validRange.default: Invalid value: "1": default is less than min: 12`,
			at + `.validRange.max: Invalid value: "12": min is larger than max: 11`,
			at + `.validRange.max: Invalid value: "11": max is larger than capacity value: 10`}},
		{name: "a large default", body: between("9", `"min":"1","max":"8"`),
			want: []string{at + `.validRange.default: Invalid value: "9": default is more than max: 8`}},
		{name: "no step", body: between("1", `"min":"1","step":"0"`),
			want: []string{at + `.validRange.step: Invalid value: "0": must be greater than zero`}},
		{name: "large steps", body: between("2", `"min":"1","max":"6","step":"10"`), want: []string{
			at + `.validRange.step: Invalid value: "10": one step 11 is larger than capacity value: 10`,
			at + `.validRange.step: Invalid value: "2": value is not a multiple of a given step (10) from (1)`,
			at + `.validRange.step: Invalid value: "6": value is not a multiple of a given step (10) from (1)`}},
		{name: "negative numbers", body: between("0", `"min":"-1","step":"1"`),
			want: []string{at + `.validRange.min: Invalid value: "-1": must be greater than or equal to 0`}},
		{name: "a step of 2 to the power of 64", body: between("1", `"min":"1","step":"18446744073709551616"`), want: []string{
			at + `.validRange.step: Invalid value: "18446744073709551616": one step 18446744073709551617 is larger than capacity value: 10`,
			at + `.validRange.step: Invalid value: "18446744073709551616": must not be larger than 9223372036854775807`}},
		{name: "small fractions", body: between("1", `"min":"1","step":"1u"`), want: []string{
			at + `.validRange.step: Invalid value: "1u": value cannot be represented as a milli value`}},
	})
}
