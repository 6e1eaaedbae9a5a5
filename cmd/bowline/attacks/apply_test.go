package attacks

import (
	"encoding/json"
	"fmt"
	"strings"
)

// applies are server-side applies, and managedFields that clients send.
func applies() []row {
	apply := func(path, fields string) []request {
		return patch(path+"?fieldManager=m&force=true", applyType, fields)
	}
	ofMap := func(fields string) []request { return apply(configMaps+"/a", configMap("a", fields)) }
	ofThing := func(fields string) []request { return apply(things+"/a", thing("a", fields)) }
	a := post(configMaps, configMap("a", `,"data":{"a":"b"}`))
	list := func(schema string) []request {
		return define(property(`{"type":"array","items":` + schema + `,"x-kubernetes-list-type":"set"}`))
	}
	associative := define(property(`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],` +
		`"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"}}}}`))
	items := func(format string, n int) string { return `"a":[` + numbered(format, n) + `]` }
	rows := []row{
		{name: "19,000 keys", send: ofMap(`,"data":{` + numbered(`"k%d":"v"`, 19_000) + `}`), codes: []int{201, 413}},
		{name: "19,000 keys, twice", setup: ofMap(`,"data":{` + numbered(`"k%d":"v"`, 19_000) + `}`),
			send: apply(configMaps+"/a", configMap("a", `,"data":{`+numbered(`"k%d":"w"`, 19_000)+`}`)), codes: []int{200, 413}},
		{name: "19,000 keys removed", setup: ofMap(`,"data":{` + numbered(`"k%d":"v"`, 19_000) + `}`), send: ofMap(""), codes: []int{200}},
		{name: "10,000 conflicts", setup: ofMap(`,"data":{` + numbered(`"k%d":"v"`, 10_000) + `}`),
			send:  patch(configMaps+"/a?fieldManager=n", applyType, configMap("a", `,"data":{`+numbered(`"k%d":"w"`, 10_000)+`}`)),
			codes: []int{409}, text: "conflict"},
		{name: "an unknown field", send: ofMap(`,"zzz":1`), codes: []int{400, 422, 500}, text: "field not declared"},
		{name: "a set of 49,000 texts", setup: list(`{"type":"string"}`), send: ofThing(items(`"v%d"`, 49_000)), text: "each of which would have an owner"},
		{name: "a set of 3,900 texts", setup: list(`{"type":"string"}`), send: ofThing(items(`"v%d"`, 3_900)), codes: []int{201}},
		{name: "a set of 3,900 texts, twice", setup: append(list(`{"type":"string"}`), ofThing(items(`"v%d"`, 3_900))...),
			send: ofThing(items(`"w%d"`, 3_900)), codes: []int{200}},
		{name: "a set of 19,000 texts, updated", setup: append(list(`{"type":"string"}`), post(things, thing("a", items(`"v%d"`, 19_000)))...),
			send: patch(things+"/a", mergeType, `{`+items(`"w%d"`, 19_000)+`}`), codes: []int{200}},
		{name: "ten sets of 9,000 texts", setup: define(property(`{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"},` +
			`"x-kubernetes-list-type":"set"}}`)), send: ofThing(`"a":{` + numbered(`"a%d":[`+strings.ReplaceAll(numbered(`"v%d"`, 9_000), "%", "%%")+`]`, 10) + `}`),
			text: "each of which would have an owner"},
		{name: "15,000 finalizers, updated", setup: post(configMaps, `{"metadata":{"name":"a","finalizers":[`+numbered(`"example.com/f%d"`, 15_000)+`]}}`),
			send: patch(configMaps+"/a", mergeType, `{"metadata":{"finalizers":[`+numbered(`"example.com/g%d"`, 15_000)+`]}}`), codes: []int{200, 413, 422}},
		{name: "an apply beside 15,000 finalizers", setup: post(configMaps, `{"metadata":{"name":"a","finalizers":[`+numbered(`"example.com/f%d"`, 15_000)+`]}}`),
			send: ofMap(`,"data":{"k":"v"}`), text: "each of which would have an owner"},
		{name: "an atomic list of 90,000", setup: define(property(`{"type":"array","items":{"type":"string"}}`)),
			send: ofThing(items(`"v%d"`, 90_000)), codes: []int{201}},
		{name: "a set of 49,000 equal texts", setup: list(`{"type":"string"}`), send: ofThing(items(`"v"`, 49_000)), codes: []int{400, 413, 422, 500}},
		{name: "a set of long texts", setup: list(`{"type":"string"}`),
			send: ofThing(items(`"`+strings.Repeat("x", 25_000)+`%d"`, 100)), codes: []int{201, 413}},
		{name: "an associative list of 30,000", setup: associative, send: ofThing(items(`{"k":"k%d","v":"v"}`, 30_000)), text: "each of which would have an owner"},
		{name: "an associative list of 3,900", setup: associative, send: ofThing(items(`{"k":"k%d","v":"v"}`, 3_900)), codes: []int{201}},
		{name: "an associative list of 3,900, twice", setup: append(associative[:1:1], ofThing(items(`{"k":"k%d","v":"v"}`, 3_900))...),
			send: ofThing(items(`{"k":"l%d","v":"w"}`, 3_900)), codes: []int{200, 413}},
		{name: "an associative list of one key", setup: associative, send: ofThing(items(`{"k":"k","v":"v"}`, 20_000)),
			codes: []int{400, 413, 422, 500}},
		{name: "a Deployment with 10,000 variables", send: apply(deployments+"/d", `{"apiVersion":"apps/v1","kind":"Deployment",`+
			deployment[1:len(deployment)-len(`"name":"c","image":"i"}]}}}}`)]+`"name":"c","image":"i",`+
			`"env":[`+numbered(`{"name":"E%d","value":"x"}`, 10_000)+`]}]}}}}`), codes: []int{201, 413}},
		{name: "9,900 levels of a custom resource", setup: define(free),
			send: ofThing(`"free":` + nested(`{"a":`, "1", "}", 9_900)), codes: []int{201, 400, 413, 422}},
		{name: "990 levels, applied twice", setup: append(define(free), ofThing(`"free":`+nested(`{"a":`, "1", "}", 400))...),
			send: ofThing(`"free":` + nested(`{"a":`, "2", "}", 990)), codes: []int{200, 400, 413, 422}},
		{name: "400 levels updated by another manager", setup: append(define(free), ofThing(`"free":`+nested(`{"a":`, "1", "}", 400))...),
			send: patch(things+"/a?fieldManager=n", mergeType, `{"free":`+nested(`{"a":`, "2", "}", 400)+`}`), codes: []int{200, 400, 413, 422}},
		{name: "duplicate keys", send: patch(configMaps+"/a?fieldManager=m", applyType,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: x, a: true}\n"), codes: []int{400, 422, 500}},
		{name: "another name", setup: a, send: apply(configMaps+"/a", configMap("other", "")), text: "does not match the name on the URL"},
		{name: "no manager", setup: a, send: patch(configMaps+"/a", applyType, configMap("a", "")), text: "is required for apply patch"},
		{name: "with managedFields", setup: a, send: apply(configMaps+"/a",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"x"}]}}`), text: "must be nil"},
		{name: "a manager of 1,000 characters", setup: a, send: patch(configMaps+"/a?fieldManager="+strings.Repeat("x", 1_000), mergeType, "{}"),
			text: "Too long"},
		{name: "a manager with an escape sequence", setup: a, send: patch(configMaps+"/a?fieldManager=%1b%5b31m", mergeType, "{}"),
			text: "invalid character"},
		{name: "a manager with a line break", setup: a, send: patch(configMaps+"/a?fieldManager=a%0ab", mergeType, "{}"),
			text: "invalid character"},
		{name: "a User-Agent of 100 KB as the manager", setup: a, send: []request{{method: "PATCH", path: configMaps + "/a",
			mediaType: mergeType, body: `{"data":{"a":"c"}}`, header: []string{"User-Agent", strings.Repeat("x", 100_000)}}}, codes: []int{200}},
		{name: "300 applies by 300 managers", setup: a, run: func(s *server) answer {
			var last answer
			for i := range 300 {
				last = s.send(patch(fmt.Sprintf("%s/a?fieldManager=m%d&force=true", configMaps, i), applyType,
					configMap("a", fmt.Sprintf(`,"data":{"k":"%d"}`, i)))[0])
			}
			return last
		}, codes: []int{200}},
		{name: "60 updates by 60 managers", setup: a, run: func(s *server) answer {
			var last answer
			for i := range 60 {
				last = s.send(patch(fmt.Sprintf("%s/a?fieldManager=u%d", configMaps, i), mergeType, fmt.Sprintf(`{"data":{"k%d":"v"}}`, i))[0])
			}
			return last
		}, codes: []int{200}},
	}
	return append(rows, managedFields()...)
}

// managedFields are entries of managedFields that clients send.
func managedFields() []row {
	a := post(configMaps, configMap("a", `,"data":{"a":"b"}`))
	entry := func(manager, fields string) string {
		return `{"manager":"` + manager + `","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + fields + `}`
	}
	sent := func(name, entries string, codes ...int) row {
		return row{name: "managedFields: " + name, setup: a, codes: append(codes, 200),
			send: patch(configMaps+"/a", mergeType, `{"metadata":{"managedFields":[`+entries+`]},"data":{"a":"c"}}`)}
	}
	bomb, _ := json.Marshal(`k:` + nested(`{"a":`, "1", "}", 2_000)) // a text can be encoded
	return []row{
		sent("2,000 levels", entry("x", nested(`{"f:a":`, "{}", "}", 2_000)), 400, 413, 422),
		sent("900 levels", entry("x", nested(`{"f:a":`, "{}", "}", 900)), 400, 422),
		sent("9,000 levels", entry("x", nested(`{"f:a":`, "{}", "}", 9_000)), 400, 413, 422),
		sent("garbage keys", entry("x", `{"zzz":{},"":{},"f":{},":":{}}`), 400, 422),
		sent("30,000 keys", entry("x", `{"f:data":{`+numbered(`"f:k%d":{}`, 19_000)+`}}`), 400, 422),
		sent("19,000 keys of lists", entry("x", `{"f:data":{`+numbered(`"k:{\"a\":%d}":{}`, 19_000)+`}}`), 400, 413, 422),
		sent("a key with nested JSON", entry("x", `{"f:data":{`+string(bomb)+`:{}}}`), 400, 422),
		sent("a key of a megabyte", entry("x", `{"f:`+strings.Repeat("x", mega)+`":{}}`), 400, 422),
		sent("an unparsable value", entry("x", `{"v:{":{}}`), 400, 422),
		sent("10,000 values of lists", entry("x", `{"f:data":{`+numbered(`"v:%d":{}`, 10_000)+`}}`), 400, 422),
		sent("1,000 entries", numbered(entry("m%d", `{"f:data":{"f:a":{}}}`), 1_000), 400, 422),
		sent("10,000 entries", numbered(entry("m%d", `{"f:data":{"f:a":{}}}`), 10_000), 400, 413, 422),
		sent("a hundred entries of 400 keys", numbered(entry("m%d", `{"f:data":{`+numbered(`"f:k%d":{}`, 400)+`}}`), 100), 400, 413, 422),
		sent("another version", `{"manager":"x","operation":"Update","apiVersion":"evil/v9","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}`, 400, 422),
		sent("a control character", entry(`\u001b[31m`, `{}`), 400, 422),
	}
}
