package attacks

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
)

// bodies are bodies of writes, in JSON and YAML.
func bodies() []row {
	return []row{
		{name: "an empty body", send: post(configMaps, ""), text: "couldn't get version/kind"},
		{name: "null", send: post(configMaps, "null"), text: "name or generateName is required"},
		{name: "a list", send: post(configMaps, "[]"), text: "cannot unmarshal array"},
		{name: "a string", send: post(configMaps, `"x"`), text: "cannot unmarshal string"},
		{name: "a million brackets", send: post(configMaps, `{"metadata":{"name":"a"},"data":`+strings.Repeat("[", mega)),
			text: "exceeded max depth"},
		{name: "three million brackets", send: post(configMaps, strings.Repeat("[", 3*mega-1)), text: "depth"},
		{name: "objects nested deeper than JSON may be", send: post(configMaps, strings.Repeat(`{"a":`, mega/2)),
			text: "depth"},
		{name: "balanced objects in annotations", send: post(configMaps,
			`{"metadata":{"name":"a","annotations":`+nested(`{"a":`, "1", "}", 400_000)+`}}`), text: "depth"},
		{name: "an unknown field nested 9,000 deep", send: post(configMaps, configMap("a", `,"zzz":`+nested("[", "", "]", 9_000))),
			codes: []int{201, 413}},
		{name: "an unknown field nested 200,000 deep",
			send: post(configMaps, configMap("a", `,"zzz":`+nested("[", "", "]", 200_000))), text: "depth"},
		{name: "a million values", send: post(configMaps, `{"zzz":[`+repeated("1", mega)+`]}`), text: tooMany},
		{name: "100,000 keys", send: post(configMaps, `{"zzz":{`+numbered(`"a%d":1`, 100_000)+`}}`), text: tooMany},
		{name: "19,000 keys", send: post(configMaps, configMap("a", `,"zzz":{`+numbered(`"a%d":1`, 19_000)+`}`)),
			codes: []int{201}},
		{name: "49,000 keys", send: post(configMaps, configMap("a", `,"zzz":{`+numbered(`"a%d":1`, 49_000)+`}`)),
			text: tooManyFields},
		{name: "a number of a million digits",
			send: post(configMaps, `{"metadata":{"name":"a","generation":`+strings.Repeat("9", mega)+`}}`)},
		{name: "the number 1e999999999", send: post(configMaps, `{"metadata":{"name":"a","generation":1e999999999}}`)},
		{name: "a duplicate key", send: post(configMaps, `{"metadata":{"name":"a"},"metadata":{"name":"b"}}`),
			codes: []int{201}, text: `"name":"b"`},
		{name: "50,000 duplicate keys", send: post(configMaps, configMap("a", strings.Repeat(`,"data":{}`, 50_000)))},
		{name: "keys in another case", send: post(configMaps, `{"Metadata":{"NAME":"a"}}`), text: "name or generateName"},
		{name: "invalid UTF-8", send: post(configMaps, configMap("a", ",\"data\":{\"k\":\"\xff\xfe\"}")), codes: []int{201}},
		{name: "NUL in a value", send: post(configMaps, configMap("a", `,"data":{"k":"\u0000"}`)), codes: []int{201}},
		{name: "a lone surrogate", send: post(configMaps, configMap("a", `,"data":{"k":"\ud800"}`)), codes: []int{201}},
		{name: "a name with a line break", send: post(configMaps, configMap(`a\nb`, "")), text: "RFC 1123"},
		{name: "a name that climbs", send: post(configMaps, configMap("../../etc/passwd", "")), text: "RFC 1123"},
		{name: "the name ..", send: post(configMaps, configMap("..", "")), text: "RFC 1123"},
		{name: "a name of 300 characters", send: post(configMaps, configMap(strings.Repeat("a", 300), "")),
			text: "no more than 253"},
		{name: "a wrong name of two megabytes", send: post(configMaps, configMap(strings.Repeat("/", 2*mega), "")),
			text: "... (2097152 bytes)"},
		{name: "two megabytes in a group without a version", send: post(configMaps, `{"apiVersion":"a/","kind":"ConfigMap",`+
			`"metadata":{"name":"a"},"data":{"k":"`+strings.Repeat("a", 2*mega)+`"}}`), text: "aaa...'"},
		{name: "a kind of two megabytes", send: post(configMaps, `{"kind":"`+strings.Repeat("a", 2*mega)+`"}`), text: "aaa..."},
		{name: "a generated name that climbs", send: post(configMaps, `{"metadata":{"generateName":"../x"}}`), text: "RFC 1123"},
		{name: "a generated name of two megabytes",
			send: post(configMaps, `{"metadata":{"generateName":"`+strings.Repeat("a", 2*mega)+`"}}`)},
		{name: "another namespace", send: post(configMaps, `{"metadata":{"name":"a","namespace":"kube-system"}}`),
			text: "does not match the namespace"},
		{name: "a uid that climbs", send: post(configMaps, `{"metadata":{"name":"a","uid":"/../../x"}}`),
			codes: []int{201}},
		{name: "a resource version on create", send: post(configMaps, `{"metadata":{"name":"a","resourceVersion":"1"}}`),
			codes: []int{500}, text: "resourceVersion should not be set"}, // as in Kubernetes
		{name: "fields of the server", send: post(configMaps, `{"metadata":{"name":"a","creationTimestamp":"1970-01-01T00:00:00Z",`+
			`"deletionTimestamp":"1970-01-01T00:00:00Z","managedFields":[{}],"selfLink":"/x","generation":-1}}`),
			codes: []int{201, 400, 422}},
		{name: "a body of 4 MB", send: post(configMaps, configMap("a", `,"data":{"a":"`+strings.Repeat("x", 4_000_000)+`"}`)),
			codes: []int{413}, text: "limit is 3145728"},
		{name: "a body of 2.9 MB", send: post(configMaps, configMap("a", `,"data":{"a":"`+strings.Repeat("x", 2_900_000)+`"}`)),
			text: "Too long"},
		{name: "2.9 MB of escapes", send: post(configMaps, configMap("a", `,"data":{"a":"`+strings.Repeat(`\u0001`, 480_000)+`"}`)),
			codes: []int{201}},
		{name: "19,000 unknown fields", send: post(configMaps+"?fieldValidation=Strict",
			configMap("a", ","+numbered(`"a%d":1`, 19_000))), text: "unknown field"},
		{name: "90,000 unknown fields", send: post(configMaps, configMap("a", ","+numbered(`"a%d":1`, 90_000))), text: tooManyFields},
		{name: "19,000 unknown fields, with warnings",
			send: post(configMaps, configMap("a", ","+numbered(`"a%d":1`, 19_000))), codes: []int{201}},
		{name: "an unknown field of a megabyte", send: post(configMaps+"?fieldValidation=Strict",
			configMap("a", `,"`+strings.Repeat("x", mega)+`":1`)), text: "unknown field"},
	}
}

// yamlBodies are documents in YAML.
func yamlBodies() []row {
	laughs := "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n"
	for i := 1; i < 10; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, repeated(fmt.Sprintf("*a%d", i-1), 9))
	}
	var indented, keys strings.Builder
	for i := range 1500 {
		indented.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for i := range 90_000 {
		fmt.Fprintf(&keys, "a%d: 1\n", i)
	}
	const (
		named   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		aliases = "the aliases of the YAML document"
	)
	// aliased is a text of n bytes in an unknown field, named again and again.
	aliased := func(n, times int) string {
		return named + "zzz:\n- &a \"" + strings.Repeat("x", n) + "\"\n" + strings.Repeat("- *a\n", times)
	}
	yaml := func(body string) []request { return postAs(configMaps, yamlType, body) }
	return []row{
		{name: "a text of 2.5 MB named 90,000 times", send: yaml(aliased(2_500_000, 90_000)), text: aliases},
		{name: "a text of 1 MB named 400 times", send: yaml(aliased(980_000, 400)), text: aliases},
		{name: "the same, replaced", setup: post(configMaps, configMap("a", "")), send: []request{{
			method: http.MethodPut, path: configMaps + "/a", mediaType: yamlType, body: aliased(980_000, 400)}}, text: aliases},
		{name: "the same, applied", send: patch(configMaps+"/a?fieldManager=m", applyType, aliased(980_000, 400)), text: aliases},
		{name: "the same, as options of a deletion", send: []request{{method: http.MethodDelete,
			path: configMaps + "/a", mediaType: yamlType, body: aliased(980_000, 400)}}, text: aliases},
		{name: "the same, as a strategic merge", send: []request{{method: http.MethodPatch,
			path: configMaps + "/a", mediaType: yamlType, body: aliased(980_000, 400)}}, codes: []int{415}},
		{name: "a text of 30 KB named 2,000 times", send: yaml(named + "data:\n  a0: &a \"" + strings.Repeat("x", 30_000) +
			"\"\n" + strings.ReplaceAll(numbered("  a%d: *a\n", 2_000), ",", "")), text: aliases},
		{name: "a text of 100 KB named 100 times", send: yaml(aliased(100_000, 100)), text: aliases},
		{name: "a text of 100 KB named 20 times", send: yaml(aliased(100_000, 20)), codes: []int{201}},
		{name: "aliases of aliases", send: yaml(laughs), text: aliases},
		{name: "an alias of itself", send: yaml("metadata: &m {name: a, x: *m}\n"), text: "contains itself"},
		{name: "a merge key of itself", send: yaml("a: &a {<<: *a}\nkind: ConfigMap\n"), text: "contains itself"},
		{name: "merge keys of merge keys", send: yaml(named + "a0: &a0 {" + numbered("k%d: 1", 500) + "}\n" +
			strings.ReplaceAll(numbered("m%d: {<<: *a0, x: 1}\n", 200), ",", ""))},
		{name: "100,000 brackets", send: yaml(strings.Repeat("[", 100_000)), text: ""},
		{name: "100,000 balanced brackets", send: yaml(named + "zzz: " + nested("[", "", "]", 100_000) + "\n"), text: "depth"},
		{name: "9,000 balanced brackets", send: yaml(named + "zzz: " + nested("[", "", "]", 9_000) + "\n"), codes: []int{201, 413}},
		{name: "nested by indentation", send: yaml(named + indented.String()), codes: []int{201, 413}},
		{name: "700,000 items", send: yaml("zzz:\n" + strings.Repeat("- a\n", 700_000)), text: tooMany},
		{name: "90,000 keys", send: yaml(named + "zzz:\n" + strings.ReplaceAll("\n"+keys.String(), "\n", "\n  ")),
			codes: []int{201, 413}},
		{name: "90,000 flow keys", send: yaml(named + "zzz: {" + numbered("a%d: 1", 90_000) + "}\n"), codes: []int{201, 413}},
		{name: "a hundred thousand documents", send: yaml(named + strings.Repeat("---\n", 100_000)), codes: []int{201, 400, 413}},
		{name: "a hundred thousand anchors", send: yaml(named + "zzz:\n" + strings.ReplaceAll(numbered("- &a%d x\n", 99_000), ",", "")),
			codes: []int{201, 413}},
		{name: "a comment of 2.9 MB", send: yaml(named + "#" + strings.Repeat("x", 2_900_000) + "\n"), codes: []int{201}},
		{name: "a million comments", send: yaml(named + strings.Repeat("#\n", mega)), codes: []int{201, 413}},
		{name: "a folded text of 2.9 MB", send: yaml(named + "zzz: >\n" + strings.Repeat("  a\n\n", 500_000)), codes: []int{201, 413}},
		{name: "tags of Python and binary", send: yaml(named + "data: !!binary aGVsbG8=\nzzz: !!python/object:os.system x\n")},
		{name: "a vast number", send: yaml("metadata: {name: a, generation: 1e999999999}\n")},
		{name: "a base 60 number of a megabyte", send: yaml(named + "zzz: " + strings.Repeat("1:", mega/2) + "1\n"),
			codes: []int{201, 400, 413}},
		{name: "a key of a megabyte", send: yaml(named + "? " + strings.Repeat("x", mega) + "\n: 1\n"), codes: []int{201, 400}},
		{name: "a directive", send: yaml("%YAML 9.9\n---\n" + named), codes: []int{201, 400}},
	}
}

// gzipped returns a text compressed.
func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte(text)) // a Buffer returns no error
	w.Close()
	return out.String()
}

// mediaTypes are compressed bodies, and media types of requests and answers.
func mediaTypes() []row {
	as := func(mediaType string) []request { return postAs(configMaps, mediaType, configMap("a", "")) }
	encoded := func(body, encoding string) []request {
		q := post(configMaps, body)
		q[0].header = []string{"Content-Encoding", encoding}
		return q
	}
	rows := []row{
		{name: "a compressed body", send: encoded(gzipped(configMap("a", "")), "gzip"), text: "couldn't get version/kind"},
		{name: "a compressed body of 100 MB", send: encoded(gzipped(strings.Repeat(" ", 100*mega)), "gzip"),
			text: "couldn't get version/kind"},
		{name: "an unknown encoding", send: encoded(configMap("a", ""), "zstd, br, x"), codes: []int{201, 415}},
		{name: "JSON in another character set", send: as("application/json; charset=utf-16"), codes: []int{201, 415}},
		{name: "protobuf that is JSON", send: as(protobufType), text: "does not appear to be a protobuf message"},
		{name: "Accept: a Table", send: get(configMaps, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"), codes: []int{200}},
		{name: "Accept: text/html", send: get(configMaps, "Accept", "text/html"), codes: []int{406}},
		{name: "Accept: another form", send: get(configMaps, "Accept", "application/json;as=Evil;g=x;v=v1"), codes: []int{406}},
		{name: "Accept: 5,000 media types", send: get(configMaps, "Accept", repeated("a/b", 5_000)), codes: []int{406}},
		{name: "Accept: 20,000 media types", send: get(configMaps, "Accept", numbered("application/x%d", 20_000)), codes: []int{406}},
		{name: "Accept: a vast quality", send: get(configMaps, "Accept", "application/json;q=1e309"), codes: []int{200, 406}},
		{name: "Accept: 100,000 parameters", send: get(configMaps, "Accept", "application/json"+strings.Repeat(";a=b", 100_000)),
			codes: []int{200, 406}},
		{name: "Accept-Encoding: 100,000 encodings", send: get(configMaps, "Accept-Encoding", repeated("gzip;q=0.5", 80_000)),
			codes: []int{200}},
	}
	for _, t := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"application/json;application/json", "*/*", "application/cbor", jsonPatchType} {
		rows = append(rows, row{name: "Content-Type: " + strings.ReplaceAll(t, "/", " "), send: as(t), codes: []int{415}})
	}
	return rows
}
