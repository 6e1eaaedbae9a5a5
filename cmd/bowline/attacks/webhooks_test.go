package attacks

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Paths of webhook configurations.
const (
	mutatingHooks   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	validatingHooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
)

// hostile is a webhook in this process. Its answer is made of the uid and the object of the review.
type hostile func(w http.ResponseWriter, r *http.Request, uid string, object json.RawMessage)

// start starts the webhook, and returns its clientConfig.
func (h hostile) start(s *server) string {
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the server has given up
		}
		var review struct {
			Request struct {
				UID     string
				Object  json.RawMessage
				Objects []json.RawMessage
			}
		}
		json.Unmarshal(body, &review) // a row fails if it is no review
		object := review.Request.Object
		if len(review.Request.Objects) > 0 {
			object = review.Request.Objects[0]
		}
		h(w, r, review.Request.UID, object)
	}))
	hook.Config.ErrorLog = quietLog()
	hook.StartTLS()
	s.t.Cleanup(func() {
		hook.CloseClientConnections()
		hook.Close()
	})
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	return `{"url":"` + hook.URL + `/","caBundle":"` + base64.StdEncoding.EncodeToString(bundle) + `"}`
}

// configuration is a webhook configuration for ConfigMaps, with a clientConfig.
func configuration(client string) string {
	return `{"metadata":{"name":"h"},"webhooks":[{"name":"h.example.com","sideEffects":"None","admissionReviewVersions":["v1"],` +
		`"timeoutSeconds":1,"failurePolicy":"Fail","clientConfig":` + client + `,"rules":[{"apiGroups":[""],"apiVersions":["v1"],` +
		`"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]}]}`
}

// admits returns the answer to a review, with additional fields of the response.
func admits(uid, fields string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"` + uid + `"` + fields + `}}`
}

// patches returns the fields of a response with a JSON patch.
func patches(operations string) string {
	return `,"allowed":true,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(operations)) + `"`
}

// attackedBy is a create of a ConfigMap that a hostile webhook mutates.
func attackedBy(name, text string, h hostile, codes ...int) row {
	return row{name: name, text: text, codes: codes, send: post(configMaps, configMap("a", `,"data":{"a":"b"}`)), livez: maxLivez,
		prepare: func(s *server) {
			if a := s.send(post(mutatingHooks, configuration(h.start(s)))[0]); a.code != http.StatusCreated {
				s.t.Fatalf("the webhook configuration: %s", a)
			}
		}}
}

// answers is a webhook that answers a review with fields of the response.
func answers(fields string) hostile {
	return func(w http.ResponseWriter, _ *http.Request, uid string, _ json.RawMessage) {
		io.WriteString(w, admits(uid, fields))
	}
}

// endless writes a text until the client has had enough.
func endless(w io.Writer, text string) {
	for range 1 << 20 {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// hang waits until the client has given up.
func hang(r *http.Request) { <-r.Context().Done() }

// bombs are answers of webhooks that cost much, or never end. Admission webhooks and conversion webhooks may send them.
func bombs() map[string]hostile {
	block := strings.Repeat("x", 64*kilo)
	return map[string]hostile{
		"silence": func(_ http.ResponseWriter, r *http.Request, _ string, _ json.RawMessage) { hang(r) },
		"a byte every 100 ms": func(w http.ResponseWriter, r *http.Request, _ string, _ json.RawMessage) {
			ticks := time.NewTicker(100 * time.Millisecond)
			defer ticks.Stop()
			for r.Context().Err() == nil {
				io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				<-ticks.C
			}
		},
		"an endless answer": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) { endless(w, block) },
		"an endless list": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			io.WriteString(w, `{"response":{"uid":[`)
			endless(w, strings.Repeat("{},", 20_000))
		},
		"a compressed answer without an end": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			w.Header().Set("Content-Encoding", "gzip")
			compressed := gzip.NewWriter(w)
			defer compressed.Close()
			for range 8_000 {
				if _, err := io.WriteString(compressed, block); err != nil {
					return
				}
			}
		},
		"endless headers": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			for i := range 4_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 8*kilo))
			}
		},
		"a redirect to itself": func(w http.ResponseWriter, r *http.Request, _ string, _ json.RawMessage) {
			http.Redirect(w, r, "https://"+r.Host+"/again", http.StatusTemporaryRedirect)
		},
		"a redirect to a metadata server": func(w http.ResponseWriter, r *http.Request, _ string, _ json.RawMessage) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		},
		"a cut connection": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			panic(http.ErrAbortHandler)
		},
		"nonsense": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			io.WriteString(w, "\x00\x01\x1b[31m")
		},
		"nothing": func(http.ResponseWriter, *http.Request, string, json.RawMessage) {},
		"null":    func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) { io.WriteString(w, "null") },
		"a million brackets": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			io.WriteString(w, strings.Repeat("[", mega))
		},
		"5 million values": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			io.WriteString(w, `{"x":[`+repeated("1", 5*mega)+`]}`)
		},
		"YAML with 400 aliases of 1 MB": func(w http.ResponseWriter, _ *http.Request, uid string, _ json.RawMessage) {
			io.WriteString(w, "zzz:\n- &a \""+strings.Repeat("x", 980_000)+"\"\n"+strings.Repeat("- *a\n", 400)+admits(uid, ""))
		},
		"a status of 500 with a secret": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, strings.Repeat("INTERNAL-SECRET", mega))
		},
		"a status of 999": func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) { w.WriteHeader(999) },
	}
}

// webhooks are admission webhooks that hang, lie, and send what costs much.
func webhooks() []row {
	const failed = "failed calling webhook"
	var rows []row
	for name, h := range bombs() {
		rows = append(rows, attackedBy(name, failed, h, http.StatusInternalServerError))
	}
	copies := `[{"op":"add","path":"/data/x","value":"` + strings.Repeat("x", kilo) + `"},` + repeated(`{"op":"copy","from":"/data","path":"/zzz"}`, 9_000) + "]"
	rows = append(rows,
		attackedBy("another uid of the object", "", answers(patches(`[{"op":"add","path":"/metadata/uid","value":"/../../x"}]`)), 201, 422),
		attackedBy("another name", "RFC 1123", answers(patches(`[{"op":"replace","path":"/metadata/name","value":"../../evil"}]`)), 422, 400),
		attackedBy("another namespace", "does not match", answers(patches(`[{"op":"add","path":"/metadata/namespace","value":"kube-system"}]`)), 400),
		attackedBy("managers with escape sequences", "invalid character", answers(patches(`[{"op":"add","path":"/metadata/managedFields","value":`+
			`[{"manager":"x\u001b[31m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}]}]`)), 422),
		attackedBy("copies of copies", "", answers(patches(copies)), 400, 413, 422, 500),
		attackedBy("a patch of 7 MB", "", answers(patches(`[{"op":"add","path":"/data/x","value":"`+strings.Repeat("x", 5*mega)+`"}]`)), 400, 413, 422, 500),
		attackedBy("a patch of 5 million brackets", "", answers(patches(strings.Repeat("[", 5*mega))), 400, 413, 422, 500),
		attackedBy("a patch with 2 million values", "", answers(patches(`[{"op":"add","path":"/zzz","value":[`+repeated("1", 2*mega)+`]}]`)), 400, 413, 422, 500),
		attackedBy("a patch of 100,000 operations", "", answers(patches(operations(`{"op":"test","path":"/kind","value":"ConfigMap"}`, 100_000))), 201, 400, 413, 422, 500),
		attackedBy("a patch with 10,000 tests", "", answers(patches(operations(`{"op":"test","path":"/data","value":{"a":"b"}}`, 10_000))), 201, 500),
		attackedBy("a patch that removes the object", "", answers(patches(`[{"op":"remove","path":""}]`)), 400, 422, 500),
		attackedBy("a patch of another type", "", answers(`,"allowed":true,"patchType":"Evil","patch":"e30="`), 400, 422, 500),
		attackedBy("a million warnings", "", answers(`,"allowed":true,"warnings":[`+repeated(`"x"`, mega)+`]`), 201, 500),
		attackedBy("a warning of 7 MB", "", answers(`,"allowed":true,"warnings":["`+strings.Repeat("x", 7*mega)+`"]`), 201),
		attackedBy("a warning with control characters", "", answers(`,"allowed":true,"warnings":["\u001b]0;x\u0007","a\r\nSet-Cookie: x=1"]`), 201),
		attackedBy("annotations of 7 MB", "", answers(`,"allowed":true,"auditAnnotations":{"a":"`+strings.Repeat("x", 7*mega)+`"}`), 201),
		attackedBy("a refusal with escape sequences", "denied the request", answers(`,"allowed":false,"status":{"message":"\u001b]0;x\u0007no"}`), 400, 403),
		attackedBy("a warning of 15 MB", "unexpected error when reading response body", answers(`,"allowed":true,"warnings":["`+strings.Repeat("x", 15*mega)+`"]`), 500),
		attackedBy("a refusal of 7 MB", "denied the request", answers(`,"allowed":false,"status":{"message":"`+strings.Repeat("x", 7*mega)+`"}`), 400, 403),
		attackedBy("a refusal with 2 million causes", "", answers(`,"allowed":false,"status":{"message":"no","details":{"causes":[`+repeated(`{}`, 2*mega)+`]}}`), 400, 403, 500),
		attackedBy("the code 99999", "denied the request", answers(`,"allowed":false,"status":{"code":99999,"message":"no"}`), 400, 403, 500),
		attackedBy("the code 200", "denied the request", answers(`,"allowed":false,"status":{"code":200,"message":"no"}`), 400, 403, 500),
		attackedBy("another uid of the review", failed, func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			io.WriteString(w, admits("x", `,"allowed":true`))
		}, 500),
		attackedBy("no uid of the review", failed, func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			io.WriteString(w, admits("", `,"allowed":true`))
		}, 500),
		attackedBy("no response", failed, func(w http.ResponseWriter, _ *http.Request, _ string, _ json.RawMessage) {
			io.WriteString(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`)
		}, 500),
		loop(),
	)
	return append(rows, addresses()...)
}

// loop is a webhook that creates the object that it is asked about, again and again.
func loop() row {
	r := attackedBy("a webhook that writes what it is asked about", "failed calling webhook", nil, 500)
	r.prepare = func(s *server) {
		client := s.client(s.tls)
		count := 0
		h := hostile(func(w http.ResponseWriter, r *http.Request, uid string, _ json.RawMessage) {
			count++
			s.sendBy(r.Context(), client, post(configMaps, configMap(fmt.Sprintf("again-%d", count), ""))[0])
			io.WriteString(w, admits(uid, `,"allowed":true`))
		})
		if a := s.send(post(mutatingHooks, configuration(h.start(s)))[0]); a.code != http.StatusCreated {
			s.t.Fatalf("the webhook configuration: %s", a)
		}
	}
	r.codes = []int{201, 500}
	r.text = ""
	return r
}

// addresses are addresses of webhooks.
func addresses() []row {
	var rows []row
	for i, url := range []string{"http://127.0.0.1:1/x", "https://user:pw@127.0.0.1:1/x", "https://127.0.0.1:1/x?a=b", "https://127.0.0.1:1/x#f",
		"file:///etc/passwd", "gopher://x", "https://", "unix:///run/x", "https://127.0.0.1:1/ \n", "https://" + strings.Repeat("x", mega) + "/"} {
		rows = append(rows, row{name: fmt.Sprintf("address %d, %.8s", i, strings.ReplaceAll(url, "/", "")),
			send: post(mutatingHooks, configuration(`{"url":`+quoted(url)+`}`)), codes: []int{201, 422}, text: ""})
	}
	for i, path := range []string{"/../x", "/a//b", "/a/./b", "/a?b=c", "a", "/%2e%2e/x", "/a\n"} {
		rows = append(rows, row{name: fmt.Sprintf("path %d of a Service", i), send: post(mutatingHooks,
			configuration(`{"service":{"namespace":"default","name":"kubernetes","path":`+quoted(path)+`}}`)), text: "clientConfig.service.path"})
	}
	for i, url := range []string{"https://127.0.0.1:99999/", "https://0x7f000001:1/", "https://127.1:1/", "https://[::1]:1/", "https://127.0.0.1:1/../../x"} {
		rows = append(rows, row{name: fmt.Sprintf("unreachable address %d", i), setup: post(mutatingHooks, configuration(`{"url":"`+url+`"}`)),
			send: post(configMaps, configMap("a", "")), codes: []int{500}, text: "failed calling webhook"})
	}
	return append(rows,
		row{name: "the server itself", send: post(configMaps, configMap("a", "")), codes: []int{500}, text: "failed calling webhook",
			prepare: func(s *server) {
				s.send(post(mutatingHooks, configuration(`{"url":"https://`+s.address+`/api/v1/namespaces"}`))[0])
			}},
		row{name: "the Service kubernetes", setup: post(mutatingHooks, configuration(`{"service":{"namespace":"default","name":"kubernetes"}}`)),
			send: post(configMaps, configMap("a", "")), codes: []int{500}, text: "failed calling webhook"},
		row{name: "a garbage authority", send: post(mutatingHooks, configuration(`{"url":"https://127.0.0.1:1/","caBundle":"eHh4"}`)), codes: []int{201, 422}},
		row{name: "an authority of 2 MB", send: post(mutatingHooks, configuration(`{"url":"https://127.0.0.1:1/","caBundle":"`+strings.Repeat("eHh4", mega/2)+`"}`)),
			codes: []int{201, 422}},
		row{name: "2,000 webhooks", send: post(validatingHooks, `{"metadata":{"name":"h"},"webhooks":[`+numbered(
			`{"name":"h%d.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}`, 2_000)+`]}`),
			codes: []int{201, 422}},
		row{name: "8,000 wrong webhooks", send: post(validatingHooks, `{"metadata":{"name":"h"},"webhooks":[`+repeated(`{}`, 90_000)+`]}`)},
		row{name: "a webhook for all that is down can be deleted", setup: post(mutatingHooks, strings.NewReplacer(`[""]`, `["*"]`, `"configmaps"`, `"*"`).Replace(
			configuration(`{"url":"https://127.0.0.1:1/"}`))), send: remove(mutatingHooks + "/h"), codes: []int{200}},
	)
}
