package storage

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestAttributesClassRules checks the rules of ValidateVolumeAttributesClass and its counterpart for updates.
func TestAttributesClassRules(t *testing.T) {
	t.Parallel()
	const gold = `{"driverName":"csi.example.com","parameters":{"iops":"100"}}`
	check(t, attributesClassKind(object.NewCache(1)), []rule{
		{name: "a class", body: gold},
		{name: "no change", body: gold, old: gold},
		{name: "nothing", body: `{}`, want: []string{
			"driverName: Required value", "parameters: Required value: must contain at least one key/value pair"}},
		{name: "a driver that is no name", body: overlay(t, gold, `{"driverName":"/"}`), want: []string{
			`driverName: Invalid value: "/": prefix part must be non-empty`,
			`driverName: Invalid value: "/": name part must be non-empty`,
			`driverName: Invalid value: "/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{name: "a parameter without a name", body: overlay(t, gold, `{"parameters":{"":"x"}}`), want: []string{
			`parameters: Invalid value: "": field can not be empty.`}},
		{name: "too many parameters", body: manyParameters("driverName", 513, 5),
			want: []string{"parameters: Too long: may not be more than 512 bytes"}},
		{name: "changes", old: gold, body: `{"driverName":"b.example.com"}`, want: []string{
			"driverName: Forbidden: updates to driverName are forbidden.",
			"parameters: Forbidden: updates to parameters are forbidden.",
			"parameters: Required value: must contain at least one key/value pair"}},
	})
}

func TestAttributesClassRows(t *testing.T) {
	t.Parallel()
	checkRow(t, attributesClassKind(object.NewCache(1)), `{"driverName":"csi.example.com"}`, "csi.example.com")
}
