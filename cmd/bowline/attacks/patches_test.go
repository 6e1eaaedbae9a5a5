package attacks

import (
	"fmt"
	"strings"
)

// withThing creates the definition of things, which allow everything, and a thing named a with a field.
func withThing(value string) []request {
	return append(define(free), post(things, thing("a", `"free":`+value))...)
}

// operations returns a JSON patch of n equal operations.
func operations(operation string, n int) string { return "[" + repeated(operation, n) + "]" }

// jsonPatches are JSON patches (RFC 6902).
func jsonPatches() []row {
	const list = things + "/a"
	numbers := func(n int) []request { return withThing(`{"list":[` + repeated("1", n) + `]}`) }
	of := func(body string) []request { return patch(configMaps+"/a", jsonPatchType, body) }
	ofThing := func(body string) []request { return patch(list, jsonPatchType, body) }
	a := post(configMaps, configMap("a", `,"data":{"a":"b"}`))
	doubling := `{"op":"add","path":"/zzz","value":["xxxxxxxxxxxxxxxx"]}`
	for i := range 40 {
		from := "/zzz"
		doubling += fmt.Sprintf(`,{"op":"copy","from":"%s","path":"/zzz/%d"}`, from, i%2)
	}
	return []row{
		{name: "10,001 operations", setup: a, send: of(operations(`{"op":"test","path":"/kind","value":"ConfigMap"}`, 10_001)),
			text: "10000"},
		{name: "10,000 tests", setup: a, send: of(operations(`{"op":"test","path":"/kind","value":"ConfigMap"}`, 10_000)),
			codes: []int{200}},
		{name: "10,000 tests of 250 levels", setup: a,
			send: of(operations(`{"op":"test","path":"`+strings.Repeat("/a", 130)+`","value":1}`, 10_000))},
		{name: "a path of 1,000 levels", setup: a, send: of(operations(`{"op":"add","path":"`+strings.Repeat("/a", 1_000)+`","value":1}`, 1))},
		{name: "a path of a megabyte", setup: a, send: of(operations(`{"op":"add","path":"`+strings.Repeat("/a", mega)+`","value":1}`, 1))},
		{name: "a path of a million escapes", setup: a,
			send: of(operations(`{"op":"add","path":"/data/`+strings.Repeat("~1", mega)+`","value":"1"}`, 1))},
		{name: "a copy that doubles 40 times", setup: a, send: of("[" + doubling + "]")},
		{name: "10,000 copies of a list of 50,000", setup: numbers(50_000),
			send: ofThing(operations(`{"op":"copy","from":"/free","path":"/free/more"}`, 10_000))},
		{name: "10,000 copies of 300 bytes", setup: a,
			send: of(operations(`{"op":"copy","from":"/metadata","path":"/metadata/annotations"}`, 10_000))},
		{name: "10,000 copies of a list of 90,000 over each other", setup: numbers(90_000),
			send: ofThing(operations(`{"op":"copy","from":"/free/list","path":"/free/other"}`, 10_000))},
		{name: "10,000 moves of a list of 90,000", setup: numbers(90_000),
			send: ofThing("[" + repeated(`{"op":"move","from":"/free/list","path":"/free/other"},`+
				`{"op":"move","from":"/free/other","path":"/free/list"}`, 5_000) + "]"), codes: []int{200, 400, 413, 422}},
		{name: "10,000 tests of a list of 50,000", setup: numbers(50_000),
			send: ofThing(operations(`{"op":"test","path":"/free/list","value":[1]}`, 10_000))},
		{name: "10,000 equal tests of a list of 90,000", setup: withThing(`{"list":[` + repeated("1", 90_000) + `]}`),
			send: ofThing(`[{"op":"test","path":"/free/list","value":[` + repeated("1", 90_000) + `]},` +
				repeated(`{"op":"test","path":"/free/list/0","value":1}`, 9_000) + "]"), codes: []int{200, 413, 422}},
		{name: "50 equal tests of an object of 1,900 keys", setup: withThing(`{` + numbered(`"k%d":1`, 1_900) + `}`),
			send:  ofThing(operations(`{"op":"test","path":"/free","value":{`+numbered(`"k%d":1`, 1_900)+`}}`, 50)),
			codes: []int{200}},
		{name: "10,000 tests of the whole document", setup: numbers(50_000),
			send: ofThing(operations(`{"op":"test","path":"","value":{}}`, 10_000))},
		{name: "10,000 items added before 50,000", setup: numbers(50_000),
			send: ofThing(operations(`{"op":"add","path":"/free/list/0","value":1}`, 10_000))},
		{name: "10,000 items added before 85,000", setup: numbers(85_000),
			send: ofThing(operations(`{"op":"add","path":"/free/list/0","value":1}`, 10_000)), codes: []int{200, 413, 422}},
		{name: "1,000 items added before 50,000", setup: numbers(50_000),
			send: ofThing(operations(`{"op":"add","path":"/free/list/0","value":1}`, 1_000)), codes: []int{200}},
		{name: "10,000 items removed before 90,000", setup: numbers(90_000),
			send: ofThing(operations(`{"op":"remove","path":"/free/list/0"}`, 10_000)), codes: []int{200, 413, 422}},
		{name: "10,000 items replaced in 90,000", setup: numbers(90_000),
			send: ofThing(operations(`{"op":"replace","path":"/free/list/89999","value":2}`, 10_000)), codes: []int{200}},
		{name: "10,000 keys added to a deep object", setup: withThing(nested(`{"a":`, "{}", "}", 240)),
			send:  ofThing("[" + numbered(`{"op":"add","path":"/free`+strings.Repeat("/a", 240)+`/k%d","value":1}`, 5_000) + "]"),
			codes: []int{200}},
		{name: "90,000 values added at once", setup: a,
			send: of(`[{"op":"add","path":"/zzz","value":[` + repeated("1", 90_000) + `]}]`), codes: []int{200}},
		{name: "a value nested 9,900 deep", setup: withThing("{}"),
			send: ofThing(`[{"op":"add","path":"/free","value":` + nested("[", "", "]", 9_900) + `}]`), codes: []int{200, 400, 413}},
		{name: "values nested 9,000 deep, put into each other", setup: withThing("{}"),
			send: ofThing(`[{"op":"add","path":"/free","value":` + nested(`{"a":`, "1", "}", 9_000) + `},` +
				`{"op":"copy","from":"/free","path":"/free` + strings.Repeat("/a", 200) + `"},` +
				`{"op":"copy","from":"/free","path":"/free` + strings.Repeat("/a", 200) + `"}]`), codes: []int{200, 400, 413, 422}},
		{name: "the index 2^63", setup: a, send: of(`[{"op":"add","path":"/metadata/finalizers/9223372036854775808","value":"x"}]`)},
		{name: "the index -1", setup: numbers(3), send: ofThing(`[{"op":"add","path":"/free/list/-1","value":1}]`),
			codes: []int{200, 422}},
		{name: "the index 1e9", setup: numbers(3), send: ofThing(`[{"op":"add","path":"/free/list/1000000000","value":1}]`)},
		{name: "a move into its own child", setup: withThing("{}"), send: ofThing(`[{"op":"move","from":"/free","path":"/free/x"}]`)},
		{name: "another object in its place", setup: a,
			send: of(`[{"op":"replace","path":"","value":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}}]`)},
		{name: "null in its place", setup: a, send: of(`[{"op":"replace","path":"","value":null}]`)},
		{name: "another name", setup: a, send: of(`[{"op":"replace","path":"/metadata/name","value":"b"}]`), text: "does not match"},
		{name: "another uid", setup: a, send: of(`[{"op":"replace","path":"/metadata/uid","value":"/../x"}]`), text: "immutable"},
		{name: "another deletionTimestamp", setup: a,
			send: of(`[{"op":"add","path":"/metadata/deletionTimestamp","value":"2020-01-01T00:00:00Z"}]`), text: "immutable"},
		{name: "a patch of brackets", setup: a, send: of(strings.Repeat("[", 2*mega))},
		{name: "an operation with 90,000 fields", setup: a,
			send: of(`[{"op":"test","path":"/kind","value":"ConfigMap",` + numbered(`"a%d":1`, 19_000) + `}]`), codes: []int{200, 413, 400, 422}},
		{name: "an object that grows beyond the limit", setup: withThing(`{"t1":"` + strings.Repeat("x", 2*mega) + `"}`),
			send: patch(list, mergeType, `{"free":{"t2":"`+strings.Repeat("x", 2*mega)+`"}}`), text: "3145728"},
	}
}

// mergePatches are JSON merge patches (RFC 7386).
func mergePatches() []row {
	of := func(body string) []request { return patch(configMaps+"/a", mergeType, body) }
	ofThing := func(body string) []request { return patch(things+"/a", mergeType, body) }
	a := post(configMaps, configMap("a", `,"data":{"a":"b"}`))
	return []row{
		{name: "2,000 levels in annotations", setup: a, send: of(`{"metadata":{"annotations":` + nested(`{"a":`, "1", "}", 2_000) + `}}`)},
		{name: "9,900 levels in an unknown field", setup: a, send: of(`{"zzz":` + nested(`{"a":`, "1", "}", 9_900) + `}`), codes: []int{200, 400, 413}},
		{name: "9,900 levels of a custom resource", setup: withThing("{}"),
			send: ofThing(`{"free":` + nested(`{"a":`, "1", "}", 9_900) + `}`), codes: []int{200, 400, 413}},
		{name: "990 levels merged with as many", setup: withThing(nested(`{"a":`, "1", "}", 990)),
			send: ofThing(`{"free":` + nested(`{"a":`, "2", "}", 990) + `}`), codes: []int{200, 400, 413}},
		{name: "900 levels below as many", setup: withThing(nested(`{"a":`, "{}", "}", 900)),
			send: ofThing(`{"free":` + nested(`{"a":`, nested(`{"b":`, "1", "}", 900), "}", 900) + `}`), codes: []int{200, 400, 413}},
		{name: "200,000 nulls", setup: a, send: of(`{"zzz":{` + numbered(`"a%d":null`, 200_000) + `}}`), text: tooMany},
		{name: "19,000 nulls", setup: a, send: of(`{"zzz":{` + numbered(`"a%d":null`, 19_000) + `}}`), codes: []int{200}},
		{name: "19,000 keys merged with as many", setup: withThing(`{` + numbered(`"a%d":1`, 19_000) + `}`),
			send: ofThing(`{"free":{` + numbered(`"a%d":2`, 19_000) + `}}`), codes: []int{200}},
		{name: "9,000 keys beside 9,000", setup: withThing(`{` + numbered(`"a%d":1`, 9_000) + `}`),
			send: ofThing(`{"free":{` + numbered(`"b%d":2`, 9_000) + `}}`), codes: []int{200}},
		{name: "49,000 keys", setup: withThing("{}"), send: ofThing(`{"free":{` + numbered(`"a%d":2`, 49_000) + `}}`), text: tooManyFields},
		{name: "10,000 keys beside 19,000", setup: withThing(`{` + numbered(`"a%d":1`, 19_000) + `}`),
			send: ofThing(`{"free":{` + numbered(`"b%d":2`, 10_000) + `}}`), text: tooManyFields},
		{name: "values beside values beyond the limit", setup: withThing(`{"a":[` + repeated("1", 90_000) + `]}`),
			send: ofThing(`{"free":{"b":[` + repeated("1", 90_000) + `]}}`), text: tooMany},
		{name: "the number 1e999999999", setup: a, send: of(`{"metadata":{"generation":1e999999999}}`)},
		{name: "null", setup: a, send: of("null")},
		{name: "a list", setup: a, send: of("[]")},
		{name: "an unknown field with a control character", setup: a, send: of(`{"\u001b[31m":1}`), codes: []int{200}},
	}
}
