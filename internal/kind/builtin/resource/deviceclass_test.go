package resource

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestDeviceClasses checks the rules of ValidateDeviceClass and ValidateDeviceClassUpdate.
func TestDeviceClasses(t *testing.T) {
	t.Parallel()
	spec := func(fields string) string { return `{"spec":{` + fields + `}}` }
	long := `"config":[{"opaque":{"driver":"d","parameters":{"a":"` + strings.Repeat("b", 10<<10) + `"}}}]`
	const name = "spec.extendedResourceName"
	check(t, deviceClassKind(object.NewCache(1)), []rule{
		{name: "a class", body: spec(`"selectors":[{"cel":{"expression":"true"}}],"extendedResourceName":"example.com/gpu",` +
			`"config":[{"opaque":{"driver":"d","parameters":{}}}]`)},
		{name: "empty items", body: spec(`"selectors":[{}],"config":[{}]`), want: []string{
			"spec.selectors[0].cel: Required value", "spec.config[0].opaque: Required value"}},
		{name: "too many items", body: spec(`"selectors":` + list(times(33, `{}`)...) + `,"config":` + list(times(33, `{}`)...)),
			want: []string{"spec.selectors: Too many: 33: must have at most 32 items",
				"spec.config: Too many: 33: must have at most 32 items"}},
		{name: "a resource without a domain", body: spec(`"extendedResourceName":"gpu"`), want: []string{
			name + `: Invalid value: "gpu": a name must be a domain-prefixed path, such as 'example.com/my-prop'`}},
		{name: "a resource of Kubernetes", body: spec(`"extendedResourceName":"kubernetes.io/gpu"`),
			want: []string{name + `: Invalid value: "kubernetes.io/gpu": must not have "kubernetes.io/" domain`}},
		{name: "long parameters", body: spec(long),
			want: []string{"spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes"}},
		{name: "long parameters that remain", old: spec(long), body: spec(long + `,"selectors":[]`)},
		{name: "a new expression", old: spec(`"selectors":[{"cel":{"expression":"true"}}]`),
			body: spec(`"selectors":[{"cel":{"expression":"1"}}]`), want: []string{"spec.selectors[0].cel.expression: " +
				`Invalid value: "1": must evaluate to bool or the unknown type, not int`}},
		{name: "stored values remain", old: spec(`"selectors":[{"cel":{"expression":"1"}}],"extendedResourceName":"gpu"`),
			body: spec(`"selectors":[{"cel":{"expression":"1"}}],"extendedResourceName":"gpu","config":[]`)},
	})
}
