package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

const class = `{"provisioner":"example.com/Disk"}`

// manyParameters returns a class with n parameters of the given size.
func manyParameters(field string, n, size int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%q:%q", fmt.Sprintf("k%03d", i), strings.Repeat("v", size-4)))
	}
	return fmt.Sprintf(`{%q:"example.com/Disk","parameters":{%s}}`, field, strings.Join(list, ","))
}

// TestClassRules checks the rules of ValidateStorageClass and Validate_StorageClass.
func TestClassRules(t *testing.T) {
	t.Parallel()
	topologies := func(all ...string) string {
		return overlay(t, class, `{"allowedTopologies":[`+strings.Join(all, ",")+`]}`)
	}
	const (
		zone  = `{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}`
		again = `{"matchLabelExpressions":[{"key":"zone","values":["b","a"]}]}`
	)
	check(t, classKind(object.NewCache(1)), []rule{
		{name: "the least that it needs", body: class},
		{name: "no provisioner", body: `{"parameters":{"":"x"}}`, want: []string{
			`parameters: Invalid value: "": field can not be empty.`, `provisioner: Required value`}},
		{name: "a provisioner that is no name", body: `{"provisioner":"a b"}`, want: []string{
			`provisioner: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{name: "as many parameters as allowed", body: manyParameters("provisioner", 512, 512)},
		{name: "too many parameters", body: manyParameters("provisioner", 513, 5),
			want: []string{"parameters: Too long: may not be more than 512 bytes"}},
		{name: "parameters that are too long", body: manyParameters("provisioner", 512, 513),
			want: []string{"parameters: Too long: may not be more than 262144 bytes"}},
		{name: "no policy of classes", body: overlay(t, class, `{"reclaimPolicy":"Recycle"}`), want: []string{
			`reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"`}},
		{name: "an empty policy", body: overlay(t, class, `{"reclaimPolicy":""}`)},
		{name: "an unknown mode", body: overlay(t, class, `{"volumeBindingMode":"Late"}`), want: []string{
			`volumeBindingMode: Unsupported value: "Late": supported values: "Immediate", "WaitForFirstConsumer"`}},
		{name: "a topology", body: topologies(zone)},
		{name: "equal topologies", body: topologies(zone, again, zone), want: []string{
			`allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`,
			`allowedTopologies[2].matchLabelExpressions: Duplicate value: ""`}},
		{name: "an empty topology", body: topologies(zone, `{}`), want: []string{
			`allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`}},
		{name: "requirements of a topology", body: topologies(
			`{"matchLabelExpressions":[{"key":"a b","values":["x","x"]},{"key":"c"},{"key":"c","values":["x"]}]}`),
			want: []string{
				`allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "x"`,
				`allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
				`allowedTopologies[0].matchLabelExpressions[1].values: Required value`,
				`allowedTopologies[0].matchLabelExpressions[2].key: Duplicate value: "c"`}},
	})
}

// TestClassUpdateRules checks the rules of ValidateStorageClassUpdate.
func TestClassUpdateRules(t *testing.T) {
	t.Parallel()
	check(t, classKind(object.NewCache(1)), []rule{
		{name: "no change", body: class, old: class},
		{name: "mutable fields", old: class, body: overlay(t, class,
			`{"allowVolumeExpansion":true,"mountOptions":["ro"],"parameters":{}}`)},
		{name: "immutable fields", old: class, body: `{"provisioner":"example.com/b","parameters":{"a":"b"},` +
			`"reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer"}`,
			want: []string{
				"provisioner: Invalid value: null: field is immutable",
				"parameters: Invalid value: null: field is immutable",
				"reclaimPolicy: Invalid value: null: field is immutable",
				"volumeBindingMode: Invalid value: null: field is immutable"}},
		{name: "a removed provisioner", old: class, body: `{}`, want: []string{
			"provisioner: Required value", "provisioner: Invalid value: null: field is immutable"}},
	})
}

// TestClassErrorsAreBounded checks that the number of errors does not grow with the square of the number of equal
// topologies.
func TestClassErrorsAreBounded(t *testing.T) {
	t.Parallel()
	k := classKind(object.NewCache(1))
	many := make([]corev1.TopologySelectorLabelRequirement, 100_000)
	for name, terms := range map[string][]corev1.TopologySelectorTerm{
		"empty topologies":   make([]corev1.TopologySelectorTerm, 100_000),
		"empty requirements": {{MatchLabelExpressions: many}},
		"equal values": {{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: "zone", Values: make([]string, 100_000)}}}},
	} {
		c := &storagev1.StorageClass{Provisioner: "a", AllowedTopologies: terms}
		if n := len(k.Validate(t.Context(), c, nil, "")); n == 0 || n > 3*maxErrors {
			t.Errorf("%s: %d errors, want between 1 and %d", name, n, 3*maxErrors)
		}
	}
}

func TestClassDefaultsAndWarnings(t *testing.T) {
	t.Parallel()
	k := classKind(object.NewCache(1))
	got := read(t, k, class).(*storagev1.StorageClass)
	want := &storagev1.StorageClass{Provisioner: "example.com/Disk",
		ReclaimPolicy:     new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: new(storagev1.VolumeBindingImmediate)}
	want.TypeMeta = got.TypeMeta
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	checkWarnings(t, k, class, "")
	checkWarnings(t, k, overlay(t, class, `{"allowedTopologies":[{"matchLabelExpressions":[`+
		`{"key":"zone","values":["a"]},{"key":"beta.kubernetes.io/os","values":["linux"]}]}]}`), class,
		`allowedTopologies[0].matchLabelExpressions[1].key: deprecated since v1.14; use "kubernetes.io/os" instead`)
}

func TestClassRows(t *testing.T) {
	t.Parallel()
	k := classKind(object.NewCache(1))
	checkRow(t, k, class, "example.com/Disk", "Delete", "Immediate", false)
	checkRow(t, k, `{"provisioner":"p","reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer",`+
		`"allowVolumeExpansion":true}`, "p", "Retain", "WaitForFirstConsumer", true)
	for _, key := range defaultClassAnnotations {
		for value, want := range map[string]string{"true": "a (default)", "false": "a"} {
			c := &storagev1.StorageClass{}
			c.Name, c.Annotations = "a", map[string]string{key: value}
			if row, _ := k.Row(c, "storage.k8s.io/v1", now); row[0] != want {
				t.Errorf("%s %s: the name is %q, want %q", key, value, row[0], want)
			}
		}
	}
}
