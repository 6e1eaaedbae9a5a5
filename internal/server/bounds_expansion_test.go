package server_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/object"
)

const (
	deploymentsPath = "/apis/apps/v1/namespaces/default/deployments"
	deployment      = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
	  "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

	lengthyPath = "/apis/example.com/v1/namespaces/default/lengthies"
)

// longDefault has a default of 2 KB for each item of a list.
var longDefault = oneVersion("Lengthy", "lengthies", `
    schema:
      openAPIV3Schema:
        type: object
        properties:
          list:
            type: array
            items: {type: object, properties: {text: {type: string, default: "`+strings.Repeat("x", 2_000)+`"}}}
`)

// repeated returns a text n times, separated by commas.
func repeated(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

// numbered returns a format n times with its number, separated by commas.
func numbered(format string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

// protobufOwners is a ConfigMap with n empty owner references, of two bytes each.
func protobufOwners(n int) string {
	const metadata, ownerReferences = 1, 13
	owner := protowire.AppendBytes(protowire.AppendTag(nil, ownerReferences, protowire.BytesType), nil)
	raw := protowire.AppendBytes(protowire.AppendTag(nil, metadata, protowire.BytesType), bytes.Repeat(owner, n))
	envelope, _ := (&kruntime.Unknown{TypeMeta: kruntime.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		Raw: raw}).Marshal() // it cannot fail
	return object.ProtobufMagic + string(envelope)
}

// ofContainer is a strategic merge patch of the container of deployment.
func ofContainer(fields string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"c",` + fields + `}]}}}}`
}

// withColumn is a definition with a column.
func withColumn(path string) string {
	return strings.Replace(crdOf(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`), `"served":true`,
		`"served":true,"additionalPrinterColumns":[{"name":"c","type":"string","jsonPath":"`+path+`"}]`, 1)
}

// expansions are requests of which every byte costs much memory or time.
func expansions() []bound {
	const (
		mega        = 1 << 20
		tooMany     = "limit is 100000 values"
		aliases     = "the aliases of the YAML document"
		notListed   = "more errors are not listed"
		comparisons = "pairs of list items"
		soon        = 3 * time.Second
	)
	long := func(n int) string { return "zzz:\n- &a \"" + strings.Repeat("x", n) + "\"\n" }
	return []bound{
		{"YAML that names a long text 90,000 times", "POST", configMaps,
			long(2_500_000) + strings.Repeat("- *a\n", 90_000), yamlType, 413, aliases, soon, 200},
		{"the same, applied", "PATCH", configMaps + "/a?fieldManager=m",
			long(900_000) + strings.Repeat("- *a\n", 400), applyType, 413, aliases, soon, 100},
		{"YAML of 700,000 items", "POST", configMaps, "zzz:\n" + strings.Repeat("- a\n", 700_000), yamlType, 413,
			tooMany, soon, 100},
		{"a million values", "POST", configMaps, `{"zzz":[` + repeated("1", mega) + `]}`, "", 413, tooMany, soon, 100},
		{"a million values in a custom resource", "POST", widgetsPath,
			widget("many", `{"free":[`+repeated("1", mega)+`]}`), "", 413, tooMany, soon, 100},
		{"a million owners in protobuf", "POST", configMaps, protobufOwners(mega), protobufType, 413, tooMany, soon, 100},
		{"99,000 owners in protobuf", "POST", configMaps, protobufOwners(99_000), protobufType, 422, notListed, soon, 500},
		{"6,000 wrong owners", "POST", configMaps, `{"metadata":{"name":"own","ownerReferences":[` +
			repeated("{}", 6_000) + `]}}`, "", 422, notListed, soon, 100},
		{"5,000 wrong finalizers", "POST", configMaps, `{"metadata":{"name":"own","finalizers":[` +
			repeated(`"a b c"`, 5_000) + `]}}`, "", 422, notListed, soon, 100},
		{"5,000 wrong labels", "POST", configMaps, `{"metadata":{"name":"own","labels":{` +
			numbered(`"a b c %d":"x y"`, 5_000) + `}}}`, "", 422, notListed, soon, 100},
		{"5,000 wrong keys", "POST", configMaps, `{"metadata":{"name":"own"},"data":{` +
			numbered(`"a b c %d":"x"`, 5_000) + `}}`, "", 422, notListed, soon, 100},
		{"a wrong name of two megabytes", "POST", configMaps,
			`{"metadata":{"name":"` + strings.Repeat("/", 2*mega) + `"}}`, "", 422, "... (2097152 bytes)", soon, 200},
		{"90,000 unknown fields", "POST", configMaps + "?fieldValidation=Strict", `{"metadata":{"name":"own"},` +
			numbered(`"a%d":1`, 90_000) + `}`, "", 400, "unknown field", soon, 200},
		{"20,000 variables of one name", "PATCH", deploymentsPath + "/d",
			ofContainer(`"env":[` + repeated(`{"name":"a","value":"b"}`, 20_000) + `]`), strategicType, 413, comparisons,
			soon, 100},
		{"an order of 20,000 variables", "PATCH", deploymentsPath + "/d",
			ofContainer(`"$setElementOrder/env":[` + repeated(`{"name":"a"}`, 20_000) + `]`), strategicType, 413,
			comparisons, soon, 100},
		{"3,000 variables", "PATCH", deploymentsPath + "/d",
			ofContainer(`"env":[` + numbered(`{"name":"a%d","value":"b"}`, 3_000) + `]`), strategicType, 200, "", soon,
			200},
		{"a column that descends often", "POST", definitionsPath, withColumn("..a..a..a"), "", 422,
			"at most 1 recursive descent", soon, 50},
		{"a column that joins often", "POST", definitionsPath, withColumn("." + strings.Repeat("['a','a']", 30)), "",
			422, "commas", soon, 50},
		{"a default for each of 45,000 items", "POST", lengthyPath,
			`{"apiVersion":"example.com/v1","kind":"Lengthy","metadata":{"name":"a"},"list":[` + repeated("{}", 45_000) +
				`]}`, "", 413, "with the defaults of its schema", soon, 200},
	}
}
