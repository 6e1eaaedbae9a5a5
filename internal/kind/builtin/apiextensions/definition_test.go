package apiextensions

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// manifest returns a definition as JSON; spec is the content of the spec besides group and scope.
func manifest(apiVersion, group, annotations, spec string) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":%q,"kind":"CustomResourceDefinition","metadata":{"name":"things.%s","annotations":{%s}},"spec":{"group":%q,"scope":"Namespaced",%s}}`,
		apiVersion, group, annotations, group, spec)
}

const (
	things   = `"names":{"kind":"Thing","plural":"things"}`
	oneV1    = `"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]`
	twoV2    = `"versions":[{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]`
	approved = `"api-approved.kubernetes.io":"unapproved, an example"`
)

// with returns the spec of a valid v1 definition whose root schema has these members in addition to its type.
func with(schema string) string {
	return things +
		`,"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",` +
		schema + `}}}]`
}

// TestValidateCreate checks rules for new definitions that the recordings do not cover.
func TestValidateCreate(t *testing.T) {
	t.Parallel()
	tests := []struct{ rule, apiVersion, group, annotations, spec, field, text string }{
		{rule: "a valid definition", apiVersion: hub, group: "example.com", spec: things + "," + oneV1},
		{rule: "a group needs a dot", apiVersion: hub, group: "example", spec: things + "," + oneV1,
			field: "spec.group", text: "should be a domain with at least one dot"},
		{rule: "the name is plural and group", apiVersion: hub, group: "example.com",
			spec:  `"names":{"kind":"Thing","plural":"thinks"},` + oneV1,
			field: "metadata.name", text: `must be spec.names.plural+"."+spec.group`},
		{rule: "v1 does not preserve all unknown fields", apiVersion: hub, group: "example.com",
			spec:  things + `,"preserveUnknownFields":true,` + oneV1,
			field: "spec.preserveUnknownFields", text: "cannot set to true"},
		{rule: "an annotation of approval in other words", apiVersion: hub, group: "sample.k8s.io",
			annotations: `"api-approved.kubernetes.io":"yes"`, spec: things + "," + oneV1,
			field: "metadata.annotations[api-approved.kubernetes.io]", text: "with either a URL or a reason"},
		{rule: "defaults must be valid", apiVersion: hub, group: "example.com",
			spec:  with(`"properties":{"a":{"type":"integer","default":"x"}}`),
			field: "spec.validation.openAPIV3Schema.properties[a].default", text: "must be of type integer"},
		{rule: "short names are labels", apiVersion: hub, group: "example.com",
			spec:  `"names":{"kind":"Thing","plural":"things","shortNames":["A"]},` + oneV1,
			field: "spec.names.shortNames[0]", text: "a DNS-1035 label"},
		{rule: "version names are unique", apiVersion: hub, group: "example.com",
			spec: things +
				`,"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]`,
			field: "spec.versions", text: "must contain unique version names"},
		{rule: "columns have a known type", apiVersion: hub, group: "example.com",
			spec: things +
				`,"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},"additionalPrinterColumns":[{"name":"A","type":"text","jsonPath":".a"}]}]`,
			field: "spec.additionalPrinterColumns[0].type", text: "must be one of boolean,date,integer,number,string"},
		{rule: "selectable fields are in the schema", apiVersion: hub, group: "example.com",
			spec: things +
				`,"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},"selectableFields":[{"jsonPath":".spec.a"}]}]`,
			field: "spec.selectableFields[0].jsonPath", text: "is an invalid path"},
		{rule: "scale paths lie in spec and status", apiVersion: hub, group: "example.com",
			spec: things +
				`,"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},"subresources":{"scale":{"specReplicasPath":".replicas","statusReplicasPath":".status.replicas"}}}]`,
			field: "spec.subresources.scale.specReplicasPath", text: "should be a json path under .spec"},

		{rule: "v1beta1: a single version and no schema", apiVersion: legacy, group: "example.com",
			spec: things + `,"version":"v1"`},
		{rule: "v1beta1: a community group needs no approval", apiVersion: legacy, group: "samplecrd.k8s.io",
			spec: things + `,"version":"v1"`},
		{rule: "v1beta1: a schema need not be structural", apiVersion: legacy, group: "example.com",
			spec: things +
				`,"version":"v1","validation":{"openAPIV3Schema":{"properties":{"spec":{"required":["a"],"properties":{"a":{"type":"string"}}}}}}`},
		{rule: "v1beta1: pruning asks for a structural schema", apiVersion: legacy, group: "example.com",
			spec: things +
				`,"version":"v1","preserveUnknownFields":false,"validation":{"openAPIV3Schema":{"properties":{"spec":{"type":"object"}}}}`,
			field: "spec.validation.openAPIV3Schema.type", text: "must not be empty at the root"},
		{rule: "v1beta1: pruning asks for a schema", apiVersion: legacy, group: "example.com",
			spec:  things + `,"version":"v1","preserveUnknownFields":false`,
			field: "spec.versions[0].schema.openAPIV3Schema", text: "because otherwise all fields are pruned"},
		{rule: "v1beta1: defaults ask for pruning", apiVersion: legacy, group: "example.com",
			spec: things +
				`,"version":"v1","validation":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}`,
			field: "spec.preserveUnknownFields", text: "must be false in order to use defaults in the schema"},
		{rule: "v1beta1: the name is plural and group", apiVersion: legacy, group: "example.com",
			spec:  `"names":{"kind":"Thing","plural":"thinks"},"version":"v1"`,
			field: "metadata.name", text: `must be spec.names.plural+"."+spec.group`},
		{rule: "v1beta1: version is the first of versions", apiVersion: legacy, group: "example.com",
			spec:  things + `,"version":"v2","versions":[{"name":"v1","served":true,"storage":true}]`,
			field: "spec.version", text: "must match the first version in spec.versions"},
		{rule: "v1beta1: a schema for all versions and one for each", apiVersion: legacy, group: "example.com",
			spec: things +
				`,"version":"v1","validation":{"openAPIV3Schema":{"type":"object"}},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]`,
			field: "spec.validation", text: "top-level and per-version schemas are mutually exclusive"},
		{rule: "v1beta1: a version is needed", apiVersion: legacy, group: "example.com", spec: things,
			field: "spec.versions", text: "must have exactly one version marked as storage version"},
	}
	k := newKind()
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			_, status := write(t, k, object.Form{APIVersion: test.apiVersion},
				manifest(test.apiVersion, test.group, test.annotations, test.spec), nil)
			expect(t, status, test.field, test.text)
		})
	}
}

// expect checks that a Status has a cause or, if field is empty, that there is no Status.
func expect(t *testing.T, status *metav1.Status, field, text string) {
	t.Helper()
	switch {
	case status == nil && field == "":
	case status == nil:
		t.Errorf("the definition is accepted, want %s: %s", field, text)
	case field == "":
		t.Errorf("the definition is rejected: %s", status.Message)
	case status.Details == nil || !slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == field && strings.Contains(c.Message, text)
	}):
		t.Errorf("want %s: %s, got %s", field, text, status.Message)
	}
}

// TestValidateUpdate checks rules for changes.
func TestValidateUpdate(t *testing.T) {
	t.Parallel()
	const unstructured = things + `,"version":"v1"`
	tests := []struct{ rule, oldVersion, old, newVersion, new, group, field, text string }{
		{rule: "nothing changes", oldVersion: hub, old: things + "," + oneV1, newVersion: hub,
			new: things + "," + oneV1},
		{rule: "the kind of an established definition stays", oldVersion: hub, old: things + "," + oneV1,
			newVersion: hub, new: `"names":{"kind":"Other","plural":"things"},` + oneV1,
			field: "spec.names.kind", text: "field is immutable"},
		{rule: "a stored version stays", oldVersion: hub, old: things + "," + twoV2, newVersion: hub,
			new:   things + "," + oneV1,
			field: "status.storedVersions[0]", text: "v2 was previously a storage version"},
		{rule: "v1 leaves what v1beta1 made", oldVersion: legacy, old: unstructured, newVersion: hub,
			new: things + `,"preserveUnknownFields":true,"versions":[{"name":"v1","served":true,"storage":true}]`},
		{rule: "v1 leaves a group unapproved", group: "sample.k8s.io", oldVersion: legacy, old: unstructured,
			newVersion: hub, new: things + "," + oneV1},
		{rule: "v1beta1 takes the schema away", oldVersion: hub, old: things + "," + oneV1, newVersion: legacy,
			new: unstructured},
		{rule: "v1 does not take the schema away", oldVersion: hub, old: things + "," + oneV1, newVersion: hub,
			new:   things + `,"versions":[{"name":"v1","served":true,"storage":true}]`,
			field: "spec.versions[0].schema.openAPIV3Schema", text: "Required value"},
	}
	k := newKind()
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			group := test.group
			if group == "" {
				group = "example.com"
			}
			old, status := write(t, k, object.Form{APIVersion: test.oldVersion},
				manifest(test.oldVersion, group, "", test.old), nil)
			if status != nil {
				t.Fatal(status.Message)
			}
			old = stored(t, k, old)
			Establish(old, taking(), noon)
			_, status = write(t, k, object.Form{APIVersion: test.newVersion},
				manifest(test.newVersion, group, "", test.new), old)
			expect(t, status, test.field, test.text)
		})
	}
}

// stored encodes and decodes a definition.
func stored(t *testing.T, k kind.Kind, crd *definition) *definition {
	t.Helper()
	data, err := k.Encode(object.Form{APIVersion: hub}, crd)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := k.Decode(object.Form{APIVersion: hub}, data)
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*definition)
}

// TestPrepareUpdatesStoredVersions checks that a new storage version is added to the old ones, and that a
// changed spec increases the generation.
func TestPrepareUpdatesStoredVersions(t *testing.T) {
	t.Parallel()
	k := newKind()
	old, _ := write(t, k, object.Form{APIVersion: hub}, manifest(hub, "example.com", "", things+","+oneV1), nil)
	if old.Generation != 1 || !slices.Equal(old.Status.StoredVersions, []string{"v1"}) {
		t.Fatalf("after the create: generation %d, want 1; stored versions %q, want v1", old.Generation,
			old.Status.StoredVersions)
	}
	crd, status := write(t, k, object.Form{APIVersion: hub}, manifest(hub, "example.com", "", things+","+twoV2), old)
	if status != nil || crd.Generation != 2 || !slices.Equal(crd.Status.StoredVersions, []string{"v1", "v2"}) {
		t.Errorf("after the update (%v): generation %d, want 2; stored versions %q, want v1 and v2", status,
			crd.Generation, crd.Status.StoredVersions)
	}
}

// TestWarnings checks that parts of a definition without effect cause one warning, when they are added.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const (
		format = `unrecognized format "colour"`
		set    = `x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL validation rules`
	)
	tests := []struct {
		rule, schema, old string
		warnings          []string
	}{
		{rule: "nothing to tell", schema: `"properties":{"a":{"type":"string","format":"ipv4"}}`},
		{rule: "rules are run, so there is nothing to tell",
			schema: `"x-kubernetes-validations":[{"rule":"true"}],"properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"true"}]}}`},
		{rule: "a format", schema: `"properties":{"a":{"type":"string","format":"colour"}}`,
			warnings: []string{format}},
		{rule: "a set of objects",
			schema: `"properties":{"a":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object","x-kubernetes-map-type":"atomic"}}}`, warnings: []string{set}},
		{rule: "a format that was there before",
			schema: `"properties":{"a":{"type":"string","format":"colour"}},"description":"new"`,
			old:    `"properties":{"a":{"type":"string","format":"colour"}}`},
		{rule: "the spec does not change", schema: `"properties":{"a":{"type":"string","format":"colour"}}`,
			old: `"properties":{"a":{"type":"string","format":"colour"}}`},
	}
	k := newKind()
	for _, test := range tests {
		var old kind.Object
		if test.old != "" {
			crd, status := write(t, k, object.Form{APIVersion: hub}, manifest(hub, "example.com", "", with(test.old)),
				nil)
			if status != nil {
				t.Fatal(status.Message)
			}
			old = crd
		}
		crd, status := write(t, k, object.Form{APIVersion: hub}, manifest(hub, "example.com", "", with(test.schema)),
			nil)
		if status != nil {
			t.Fatal(status.Message)
		}
		if got := k.Warnings(crd, old, ""); !slices.Equal(got, test.warnings) {
			t.Errorf("%s: warnings %q, want %q", test.rule, got, test.warnings)
		}
	}
}

// TestValidateChangesNothing checks that validation does not modify the definition, although the library
// modifies its copy.
func TestValidateChangesNothing(t *testing.T) {
	t.Parallel()
	k := newKind()
	crd, status := write(t, k, object.Form{APIVersion: hub}, []byte(golden.Steps(t, "crd.json")[0].Body), nil)
	if status != nil {
		t.Fatal(status.Message)
	}
	before := crd.DeepCopy()
	k.Validate(t.Context(), crd, crd, "")
	k.Validate(t.Context(), crd, crd, "status")
	k.Warnings(crd, nil, "")
	if !reflect.DeepEqual(before, crd) {
		t.Error("validation changed the definition")
	}
}

// TestInfo compares names and columns with those of a kube-apiserver 1.37.
func TestInfo(t *testing.T) {
	t.Parallel()
	k := newKind()
	info := k.Info()
	if info.Namespaced || !slices.Equal(info.ShortNames, []string{"crd", "crds"}) ||
		!slices.Equal(info.Categories, []string{"api-extensions"}) || info.Subresource("status") == nil {
		t.Errorf("the names and subresources are not those of a kube-apiserver: %+v", info)
	}
	want := []string{"Name", "Scope", "Versions", "Created At", "Group", "Kind", "ShortNames", "Established"}
	for _, apiVersion := range []string{hub, legacy} {
		var got []string
		for _, c := range k.Columns(apiVersion) {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: columns %q, want %q", apiVersion, got, want)
		}
	}
}

// BenchmarkCreateDefinition measures this package's share of the create of a definition without rules.
func BenchmarkCreateDefinition(b *testing.B) {
	k := newKind()
	body := manifest(hub, "example.com", "",
		with(`"properties":{"spec":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}`))
	b.ReportAllocs()
	for b.Loop() {
		crd, status := write(b, k, object.Form{APIVersion: hub}, body, nil)
		if status != nil {
			b.Fatal(status.Message)
		}
		k.Warnings(crd, nil, "")
		Establish(crd, taking(), noon)
		if _, err := k.Encode(object.Form{APIVersion: hub}, crd); err != nil {
			b.Fatal(err)
		}
	}
}
