package attacks

import (
	"encoding/json"
	"fmt"
	"strings"
)

// named is a definition of another resource.
func named(plural, group, kind, more string) string {
	all, _ := json.Marshal(map[string]string{"n": plural + "." + group, "g": group, "p": plural, "k": kind}) // texts can be encoded
	var q map[string]json.RawMessage
	json.Unmarshal(all, &q) // it was encoded above
	return `{"metadata":{"name":` + string(q["n"]) + more + `},"spec":{"group":` + string(q["g"]) + `,"scope":"Namespaced",` +
		`"names":{"kind":` + string(q["k"]) + `,"plural":` + string(q["p"]) + `},` +
		`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` + free + `}}]}}`
}

// customDefinitions are definitions of custom resources.
func customDefinitions() []row {
	of := func(schema string) []request { return define(schema) }
	text := func(pattern string) string {
		quoted, _ := json.Marshal(pattern) // a text can be encoded
		return property(`{"type":"string","pattern":` + string(quoted) + `}`)
	}
	edited := func(name, old, new, want string, codes ...int) row {
		body := strings.Replace(definition(free), old, new, 1)
		if body == definition(free) {
			panic("the definition has no " + old)
		}
		return row{name: name, send: post(definitions, body), text: want, codes: codes}
	}
	const names = `"names":{"kind":"Thing","plural":"things"}`
	const version = `"name":"v1","served":true,"storage":true,`
	approved := `,"annotations":{"api-approved.kubernetes.io":"unapproved, test"}`
	rows := []row{
		{name: "a schema of 490 levels", send: of(nested(`{"type":"object","properties":{"a":`, `{"type":"string"}`, "}}", 490)), codes: []int{201}},
		{name: "a schema of 4,900 levels", send: of(nested(`{"type":"object","properties":{"a":`, `{"type":"string"}`, "}}", 4_900)), codes: []int{201, 413, 422}},
		{name: "a schema of 400 levels, deleted", setup: of(nested(`{"type":"object","properties":{"a":`, `{"type":"string"}`, "}}", 400)),
			send: remove(definitions + "/things.example.com"), codes: []int{200}},
		{name: "a schema of 4,900 lists", send: of(property(nested(`{"type":"array","items":`, `{"type":"string"}`, "}", 4_900))), codes: []int{201, 413, 422}},
		{name: "20,000 properties", send: of(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"string"}`, 20_000) + `}}`), codes: []int{201}},
		{name: "49,000 properties", send: of(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"string"}`, 45_000) + `}}`), codes: []int{201, 413}},
		{name: "20,000 wrong properties", send: of(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"x"}`, 20_000) + `}}`)},
		{name: "20,000 properties without a type", send: of(`{"type":"object","properties":{` + numbered(`"p%d":{}`, 20_000) + `}}`)},
		{name: "20,000 allOf", send: of(`{"type":"object","allOf":[` + repeated(`{"required":["a"]}`, 20_000) + `]}`), codes: []int{201, 413, 422}},
		{name: "anyOf of anyOf", send: of(property(`{"type":"string","anyOf":[` + nested(`{"anyOf":[`, `{"pattern":"a"}`, "]}", 2_000) + `]}`)), codes: []int{201, 400, 413, 422}},
		{name: "20,000 required fields", send: of(`{"type":"object","required":[` + numbered(`"a%d"`, 40_000) + `]}`), codes: []int{201, 413, 422}},
		{name: "a pattern that explodes elsewhere", send: of(text("(a+)+$")), codes: []int{201}},
		{name: "a pattern of a billion states", send: of(text("((a{1000}){1000}){1000}")), text: "must be a valid regular expression"},
		{name: "a pattern with 3,000 repetitions", send: of(text(strings.Repeat("x{1000}", 3_000))), codes: []int{201, 422}},
		{name: "a pattern with 100,000 repetitions", send: of(text(strings.Repeat("x{1000}", 100_000))), codes: []int{201, 422}},
		{name: "3,000 patterns", send: of(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"string","pattern":"(.*a){50}"}`, 3_000) + `}}`),
			codes: []int{201, 413, 422}},
		{name: "300 patterns of 1,000 states", send: of(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"string","pattern":"(.*a){900}"}`, 300) + `}}`),
			codes: []int{201, 413, 422}},
		{name: "a pattern of a megabyte", send: of(text(strings.Repeat("x", mega))), codes: []int{201, 422}},
		{name: "a pattern of brackets", send: of(text(strings.Repeat("(", 500_000))), text: "Invalid value"},
		{name: "a pattern with a look-ahead", send: of(text("(?=a)")), text: "must be a valid regular expression"},
		{name: "a reference to a file", send: of(property(`{"$ref":"file:///etc/passwd"}`)), text: "$ref"},
		{name: "a reference to itself", send: of(property(`{"$ref":"#"}`)), text: "$ref"},
		{name: "references to each other", send: of(`{"type":"object","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`),
			text: "efinitions"},
		{name: "extreme numbers", send: of(property(`{"type":"number","multipleOf":1e-300,"maximum":1e308}`)), codes: []int{201}},
		{name: "an enum of 90,000", send: of(property(`{"type":"string","enum":[` + numbered(`"a%d"`, 90_000) + `]}`)), codes: []int{201, 413}},
		{name: "an enum of 200,000", send: of(property(`{"type":"string","enum":[` + numbered(`"a%d"`, 200_000) + `]}`)), text: tooMany},
		{name: "an enum of 30,000 of one value", send: of(property(`{"type":"string","enum":[` + repeated(`"a"`, 30_000) + `]}`)), codes: []int{201, 413, 422}},
		{name: "a default of 2 MB", send: of(property(`{"type":"string","default":"` + strings.Repeat("x", 2*mega) + `"}`)), codes: []int{201}},
		{name: "a default of 90,000 values", send: of(property(`{"type":"array","items":{"type":"integer"},"default":[` + repeated("1", 90_000) + `]}`)),
			codes: []int{201, 413}},
		{name: "a default nested 4,000 deep", send: of(property(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":` +
			nested(`{"a":`, "{}", "}", 4_000) + `}`)), codes: []int{201, 413, 422}},
		{name: "defaults in 1,000 levels", send: of(nested(`{"type":"object","default":{},"properties":{"a":`, `{"type":"string"}`, "}}", 500)),
			codes: []int{201, 413, 422}},
		{name: "100 versions", send: post(definitions, strings.Replace(definition(free), `"versions":[`, `"versions":[`+
			numbered(`{"name":"v1alpha%d","served":true,"storage":false,"schema":{"openAPIV3Schema":`+free+`}},`, 100), 1)), codes: []int{201, 422, 400}},
		{name: "1,000 versions of one name", send: post(definitions, strings.Replace(definition(free), `"versions":[`, `"versions":[`+
			strings.Repeat(`{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":`+free+`}},`, 1_000), 1))},
		{name: "20,000 short names", send: post(definitions, strings.Replace(definition(free), names,
			strings.TrimSuffix(names, "}")+`,"shortNames":[`+numbered(`"t%d"`, 20_000)+`]}`, 1)), codes: []int{201, 422}},
		{name: "20,000 columns", send: post(definitions, definitionWith(`"additionalPrinterColumns":[`+
			numbered(`{"name":"c%d","type":"string","jsonPath":".a.b.c"}`, 20_000)+`],"schema":{"openAPIV3Schema":`+free+`}`)), codes: []int{201, 422, 413}},
		{name: "secrets in the group \"\"", send: post(definitions, named("secrets", "", "Secret", "")), text: "RFC 1123"},
		{name: "the group v1", send: post(definitions, named("secrets", "v1", "Secret", "")), text: "at least one dot"},
		{name: "deployments.apps", send: post(definitions, named("deployments", "apps", "Deployment", "")), text: "at least one dot"},
		{name: "leases without approval", send: post(definitions, named("leases", "coordination.k8s.io", "Lease", "")), text: "approv"},
		{name: "leases with approval", setup: post(definitions, named("leases", "coordination.k8s.io", "Lease", approved)),
			send: get("/apis/coordination.k8s.io/v1/leases"), codes: []int{200}, text: `"kind":"LeaseList"`},
		{name: "definitions themselves", setup: post(definitions, named("customresourcedefinitions", "apiextensions.k8s.io", "CustomResourceDefinition", approved)),
			send: get(definitions), codes: []int{200}, text: "CustomResourceDefinitionList"},
		edited("a version that climbs", `"name":"v1"`, `"name":"../v1"`, "DNS-1035"),
		edited("a list kind with a line break", names, `"names":{"kind":"Thing","plural":"things","listKind":"T\nList"}`, "DNS-1035"),
		edited("short names of built-in kinds", names, `"names":{"kind":"Thing","plural":"things","singular":"pod","shortNames":["secrets"]}`, "", 201),
		edited("conversion by a webhook without a configuration", `"scope"`, `"conversion":{"strategy":"Webhook"},"scope"`, "Required value"),
		edited("conversion by a webhook without an address", `"scope"`, `"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"]}},"scope"`, "Required value"),
		edited("conversion by a webhook with an empty address", `"scope"`,
			`"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{}}},"scope"`, "exactly one"),
		edited("conversion by a webhook with two addresses", `"scope"`,
			`"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1/",`+
				`"service":{"namespace":"a","name":"b"}}}},"scope"`, "exactly one"),
		edited("an unknown conversion", `"scope"`, `"conversion":{"strategy":"Evil"},"scope"`, "Unsupported value"),
		edited("no schema", `"schema":{"openAPIV3Schema":`+free+`}`, `"schema":null`, "Required value"),
		edited("a schema of null", `{"openAPIV3Schema":`+free+`}`, `{"openAPIV3Schema":null}`, "Required value"),
		edited("garbage paths of the scale", version, version+`"subresources":{"scale":{"specReplicasPath":"x","statusReplicasPath":"$"}},`, "Invalid value"),
		edited("nine selectable fields", version, version+`"selectableFields":[`+numbered(`{"jsonPath":".a%d"}`, 9)+`],`, "selectableFields"),
		edited("9,000 selectable fields", version, version+`"selectableFields":[`+numbered(`{"jsonPath":".a%d"}`, 9_000)+`],`, "selectableFields"),
		edited("list map keys without keys", free, property(`{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"map"}`), "list-map-keys"),
		edited("an array that is an integer or a text", free, property(`{"type":"array","x-kubernetes-int-or-string":true}`), "spec.validation.openAPI"),
	}
	rows = append(rows, row{name: "no versions", send: post(definitions, `{"metadata":{"name":"things.example.com"},"spec":{"group":"example.com",`+
		`"scope":"Namespaced",`+names+`,"versions":[]}}`), text: "must have exactly one version"})
	for i, plural := range []string{"../x", "a/b", "a b", "a\n", "A", strings.Repeat("a", 300), "", "..", "a.b", "%2e%2e"} {
		rows = append(rows, row{name: fmt.Sprintf("plural %d, %.8q", i, strings.ReplaceAll(plural, "/", "+")),
			send: post(definitions, named(plural, "sec.example.com", "Thing", "")), text: "spec.names.plural"})
	}
	for _, plural := range []string{"watch", "namespaces", "status", "proxy"} {
		rows = append(rows, row{name: "plural " + plural, setup: post(definitions, named(plural, "sec.example.com", "Thing", "")),
			send: get("/apis/sec.example.com/v1/namespaces/default/" + plural), codes: []int{200, 404}})
	}
	return append(rows, definitionStatus()...)
}

// definitionStatus are definitions whose status a client writes.
func definitionStatus() []row {
	status := func(name, body string) row {
		return row{name: "status: " + name, setup: append(define(free), patch(definitions+"/things.example.com/status", mergeType, `{"status":`+body+`}`)...),
			send: get("/api/v1/namespaces/default/secrets"), codes: []int{200}, text: "SecretList"}
	}
	return []row{
		status("the names of secrets", `{"acceptedNames":{"plural":"secrets","kind":"Secret"}}`),
		status("no stored versions", `{"storedVersions":["zz"]}`),
		status("no conditions", `{"conditions":[]}`),
		status("not established", `{"conditions":[{"type":"Established","status":"False","reason":"x","message":"x","lastTransitionTime":"2020-01-01T00:00:00Z"}]}`),
		status("null", `null`),
	}
}

// customResources are instances of costly definitions.
func customResources() []row {
	levels := nested(`{"type":"object","properties":{"a":`, `{"type":"string"}`, "}}", 490)
	of := func(fields string) []request { return post(things, thing("a", fields)) }
	list := func(item string) []request { return define(property(`{"type":"array","items":` + item + `}`)) }
	long := func(n int) string {
		return `{"type":"object","properties":{"t":{"type":"string","default":"` + strings.Repeat("x", n) + `"}}}`
	}
	empty := func(n int) []request { return of(`"a":[` + repeated("{}", n) + `]`) }
	const defaults = "with the defaults of its schema"
	pattern := func(p string) []request { return define(property(`{"type":"string","pattern":"` + p + `"}`)) }
	return []row{
		{name: "9,900 levels", setup: define(free), send: of(`"free":` + nested(`{"a":`, "1", "}", 9_900)), codes: []int{201, 400, 413}},
		{name: "990 levels, read", setup: withThing(nested(`{"a":`, "1", "}", 990)), send: get(things + "/a"), codes: []int{200}},
		{name: "990 levels, listed", setup: withThing(nested(`{"a":`, "1", "}", 990)), send: get(things), codes: []int{200}},
		{name: "990 levels, deleted", setup: withThing(nested(`{"a":`, "1", "}", 990)), send: remove(things + "/a"), codes: []int{200}},
		{name: "990 levels, replaced", setup: withThing(nested(`{"a":`, "1", "}", 990)),
			send: put(things+"/a", thing("a", `"free":`+nested(`{"a":`, "2", "}", 990))), codes: []int{200, 400, 413, 422}},
		{name: "10,000 owners of one manager in a removed version", setup: withThing("1"), send: patch(things+"/a", mergeType,
			`{"metadata":{"managedFields":[`+numbered(`{"manager":"m","operation":"Update","apiVersion":"example.com/gone",`+
				`"fieldsType":"FieldsV1","fieldsV1":{"f:k%d":{}}}`, 10_000)+`]},"free":2}`), codes: []int{200, 400, 413, 422}},
		{name: "10,000 owners in a removed version", setup: withThing("1"), send: patch(things+"/a", mergeType,
			`{"metadata":{"managedFields":[`+numbered(`{"manager":"m%d","operation":"Update","apiVersion":"example.com/gone",`+
				`"fieldsType":"FieldsV1","fieldsV1":{"f:free":{}}}`, 10_000)+`]},"free":2}`), codes: []int{200, 400, 413, 422}},
		{name: "9,900 lists", setup: define(free), send: of(`"free":` + nested(`[`, "1", "]", 9_900)), codes: []int{201, 400, 413}},
		{name: "490 levels of 490 levels", setup: define(levels), send: of(nested(`"a":{`, `"a":"x"`, "}", 489)), codes: []int{201, 400, 413, 422}},
		{name: "490 levels of unknown fields", setup: define(levels), send: of(`"zzz":` + nested(`{"a":`, "1", "}", 9_000)), codes: []int{201, 400, 413}},
		{name: "a million values", setup: define(free), send: of(`"free":[` + repeated("1", mega) + `]`), text: tooMany},
		{name: "99,000 numbers", setup: define(free), send: of(`"free":[` + repeated("1", 99_000) + `]`), codes: []int{201}},
		{name: "19,000 wrong items", setup: list(`{"type":"string"}`), send: of(`"a":[` + repeated("1", 90_000) + `]`), text: notListed},
		{name: "30,000 items without required fields", setup: list(`{"type":"object","required":["x","y","z"],"properties":{"x":{"type":"string"}}}`),
			send: of(`"a":[` + repeated("{}", 45_000) + `]`), text: notListed},
		{name: "90,000 values of an enum of 90", setup: list(`{"type":"string","enum":[` + numbered(`"v%d"`, 90) + `]}`),
			send: of(`"a":[` + repeated(`"w"`, 90_000) + `]`), text: notListed},
		{name: "90,000 values of an enum of 9,000", setup: list(`{"type":"string","enum":[` + numbered(`"v%d"`, 9_000) + `]}`),
			send: of(`"a":[` + repeated(`"w"`, 90_000) + `]`), text: "would take more than"},
		{name: "90,000 right values of an enum of 9,000", setup: list(`{"type":"string","enum":[` + numbered(`"v%d"`, 9_000) + `]}`),
			send: of(`"a":[` + repeated(`"v8999"`, 90_000) + `]`), codes: []int{201, 413, 422}},
		{name: "unique items of 90,000 numbers", setup: define(property(`{"type":"array","items":{"type":"integer"},"x-kubernetes-list-type":"set"}`)),
			send: of(`"a":[` + numbered("%d", 90_000) + `]`), codes: []int{201, 413}},
		{name: "a set of 1,000 of one number", setup: define(property(`{"type":"array","items":{"type":"integer"},"x-kubernetes-list-type":"set"}`)),
			send: of(`"a":[` + repeated("1", 90_000) + `]`), text: "Duplicate"},
		{name: "a set of 20,000 lists", setup: define(property(`{"type":"array","items":{"type":"array","items":{"type":"integer"},"x-kubernetes-list-type":"atomic"},"x-kubernetes-list-type":"set"}`)),
			send: of(`"a":[` + numbered("[%d]", 20_000) + `]`), codes: []int{201, 413, 422}},
		{name: "anyOf of 1,000 for 30,000 items", setup: list(`{"type":"string","anyOf":[` + numbered(`{"pattern":"v%d"}`, 1_000) + `]}`),
			send: of(`"a":[` + repeated(`"w"`, 30_000) + `]`)},
		{name: "1,000 patterns for 30,000 items", setup: list(`{"type":"string","allOf":[` + numbered(`{"pattern":"^w%d?"}`, 1_000) + `]}`),
			send: of(`"a":[` + repeated(`"w"`, 30_000) + `]`), codes: []int{201, 413, 422}},
		{name: "formats of 90,000 items", setup: list(`{"type":"string","format":"ipv6"}`), send: of(`"a":[` + repeated(`"x"`, 90_000) + `]`), text: notListed},
		{name: "dates of 90,000 items", setup: list(`{"type":"string","format":"date-time"}`), send: of(`"a":[` + repeated(`"x"`, 90_000) + `]`), text: notListed},
		{name: "mail addresses of 90,000 items", setup: list(`{"type":"string","format":"email"}`), send: of(`"a":[` + repeated(`"x@y"`, 90_000) + `]`), codes: []int{201, 422}},
		{name: "a mail address of 2 MB", setup: define(property(`{"type":"string","format":"email"}`)),
			send: of(`"a":"` + strings.Repeat("x.", mega) + `@y"`), codes: []int{201, 422}},
		{name: "embedded resources", setup: list(`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`),
			send: of(`"a":[` + repeated(`{"apiVersion":"v1","kind":"K","metadata":{"name":"/"}}`, 20_000) + `]`), text: ""},
		{name: "(a+)+$ on 2 MB", setup: pattern("(a+)+$"), send: of(`"a":"` + strings.Repeat("a", 2*mega) + `b"`)},
		{name: "(.*a){50} on 2 MB", setup: pattern("^(.*a){50}$"), send: of(`"a":"` + strings.Repeat("a", 2*mega) + `b"`)},
		{name: "(.*a){900} on 2 MB", setup: pattern("^(.*a){900}$"), send: of(`"a":"` + strings.Repeat("a", 2*mega) + `b"`), codes: []int{400, 413, 422, 504}},
		{name: "x{1000} 3,000 times on 1 MB", setup: pattern(strings.Repeat("x{1000}", 140)), send: of(`"a":"` + strings.Repeat("x", mega) + `"`),
			codes: []int{201, 413, 422}},
		{name: "100 patterns on 20 KB", setup: define(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"string","pattern":"^(.*a){90}$"}`, 100) + `}}`),
			send: of(numbered(`"p%d":"`+strings.Repeat("a", 20_000)+`b"`, 100))},
		{name: "a default of 100 KB for 100 items", setup: list(long(100_000)), send: empty(100), text: defaults},
		{name: "a default of 100 KB for 10,000 items", setup: list(long(100_000)), send: empty(10_000), text: defaults},
		{name: "a default of 2 KB for 45,000 items", setup: list(long(2_000)), send: empty(45_000), text: defaults},
		{name: "a default of 2 KB for 900,000 items", setup: list(long(2_000)), send: empty(900_000), text: tooMany},
		{name: "a default of 100 bytes for 30,000 items", setup: list(long(100)), send: empty(30_000), codes: []int{413, 201}},
		{name: "a default of 1,000 values for 10,000 items", setup: list(`{"type":"object","properties":{"t":{"type":"array","items":{"type":"integer"},"default":[` +
			repeated("1", 1_000) + `]}}}`), send: empty(10_000)},
		{name: "defaults of defaults for 10,000 items", setup: list(`{"type":"object","properties":{` +
			numbered(`"p%d":{"type":"object","default":{},"properties":{"q":{"type":"string","default":"x"}}}`, 100) + `}}`), send: empty(10_000)},
		{name: "a default for each of 10,000 items, patched in", setup: append(list(long(2_000)), of(`"a":[]`)...),
			send: patch(things+"/a", mergeType, `{"a":[`+repeated("{}", 10_000)+`]}`), text: defaults},
		{name: "a default for each of 10,000 items, applied", setup: list(long(2_000)),
			send: patch(things+"/a?fieldManager=m", applyType, thing("a", `"a":[`+repeated("{}", 10_000)+`]`)), text: defaults},
		{name: "a default that comes with the stored objects", setup: append(append(list(`{"type":"object","properties":{"t":{"type":"string"}}}`),
			empty(30_000)...), patch(definitions+"/things.example.com", jsonPatchType,
			`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/a/items/properties/t/default","value":"`+strings.Repeat("x", 10_000)+`"}]`)...),
			send: get(things), codes: []int{200, 413, 500}},
	}
}
