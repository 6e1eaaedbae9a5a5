package attacks

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// conversions are conversion webhooks that hang, lie, and send what costs much.
func conversions() []row {
	attack := func(name, text string, h hostile, codes ...int) row {
		return row{name: name, text: text, codes: codes, livez: maxLivez,
			send: get("/apis/example.com/v2/namespaces/default/things/a?timeout=3s"),
			prepare: func(s *server) {
				two := strings.Replace(definition(free), `"versions":[`, `"versions":[{"name":"v2","served":true,"storage":false,`+
					`"schema":{"openAPIV3Schema":`+free+`}},`, 1)
				two = strings.Replace(two, `"scope"`, `"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":`+
					h.start(s)+`}},"scope"`, 1)
				for _, q := range append(post(definitions, two), post(things, thing("a", `"free":1`))...) {
					if a := s.send(q); a.code != http.StatusCreated {
						s.t.Fatalf("%s %s: %s", q.method, q.path, a)
					}
				}
			}}
	}
	// converted answers with the object, as v2 and with replacements.
	converted := func(replacements ...string) hostile {
		return func(w http.ResponseWriter, _ *http.Request, uid string, object json.RawMessage) {
			object = []byte(strings.NewReplacer(append(replacements, `example.com/v1`, `example.com/v2`)...).Replace(string(object)))
			io.WriteString(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"`+uid+
				`","result":{"status":"Success"},"convertedObjects":[`+string(object)+`]}}`)
		}
	}
	objects := func(list string) hostile {
		return func(w http.ResponseWriter, _ *http.Request, uid string, _ json.RawMessage) {
			io.WriteString(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"`+uid+
				`","result":{"status":"Success"},"convertedObjects":[`+list+`]}}`)
		}
	}
	const failed = "conversion webhook for"
	var rows []row
	for name, h := range bombs() {
		text := failed
		if name == "silence" || name == "a byte every 100 ms" { // until the deadline of the request
			text = "did not complete within its time"
		}
		rows = append(rows, attack(name, text, h, 500, 504))
	}
	named := `{"apiVersion":"example.com/v2","kind":"Thing","metadata":{"name":"a"}}`
	return append(rows,
		attack("the object", `"example.com/v2"`, converted(), 200),
		attack("another uid", failed, converted(`"uid":"`, `"uid":"/../../x`), 500),
		attack("another name", failed, converted(`"name":"a"`, `"name":"evil"`), 500),
		attack("another namespace", failed, converted(`"namespace":"default"`, `"namespace":"kube-system"`), 500),
		attack("a wrong label", failed, converted(`"name":"a"`, `"name":"a","labels":{"a":"\u001b[31m"}`), 500),
		attack("new finalizers", "", converted(`"name":"a"`, `"name":"a","finalizers":["x/y"]`), 200, 500),
		attack("no objects", failed, objects(""), 500),
		attack("1,000 objects", failed, objects(repeated(named, 1_000)), 500),
		attack("a million objects", failed, objects(repeated(named, 800_000)), 500),
		attack("an object of 60 MB", "", converted(`"free":1`, `"free":"`+strings.Repeat("x", 60*mega)+`"`), 413, 500),
		attack("an object of 5 million values", "", converted(`"free":1`, `"free":[`+repeated("1", 5*mega)+`]`), 413, 500),
		attack("an object nested 9,000 deep", "", converted(`"free":1`, `"free":`+nested(`{"a":`, "1", "}", 9_000)), 200, 413, 500),
		attack("an object nested a million deep", "", converted(`"free":1`, `"free":`+nested(`{"a":`, "1", "}", mega)), 413, 500),
		attack("19,000 labels", "", converted(`"name":"a"`, `"name":"a","labels":{`+numbered(`"k%d":"v"`, 19_000)+`}`), 200, 413, 500),
		attack("a failure of 15 MB", failed, func(w http.ResponseWriter, _ *http.Request, uid string, _ json.RawMessage) {
			io.WriteString(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"`+uid+
				`","result":{"status":"Failure","message":"`+strings.Repeat("x", 15*mega)+`"}}}`)
		}, 500),
	)
}
