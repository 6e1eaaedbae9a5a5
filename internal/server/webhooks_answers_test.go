package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// badAnswers are invalid answers of webhooks, with a part of the resulting error. UID in a text is replaced
// by the uid of the review.
var badAnswers = []struct {
	name   string
	answer func(w http.ResponseWriter, r *http.Request, uid string)
	text   string
}{
	{"garbage", respond(`<html>what?</html>`), "failed to call webhook"},
	{"nothing", respond(``), "failed to call webhook"},
	{"half of an answer",
		respond(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allo`),
		"failed to call webhook"},
	{"something else", respond(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`), "failed to call webhook"},
	{"a review without a response", respond(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`),
		"webhook response was absent"},
	{"another uid", respondReview(`"uid":"other","allowed":true`), `expected response.uid="`},
	{"no uid", respondReview(`"allowed":true`), `expected response.uid="`},
	{"a huge answer", respondHuge, "the response is larger than 8388608 bytes"},
	{"an error", respondError(http.StatusInternalServerError), "failed to call webhook"},
	{"not found", respondError(http.StatusNotFound),
		"failed to call webhook: the server could not find the requested resource"},
	{"a redirect", respondRedirect(http.StatusTemporaryRedirect),
		"webhook redirects to https://192.0.2.1/admit, which is not followed"},
	{"a redirect that makes it a GET", respondRedirect(http.StatusFound),
		"webhook redirects to https://192.0.2.1/admit, which is not followed"},
	{"a connection that breaks", func(http.ResponseWriter, *http.Request, string) {
		panic(http.ErrAbortHandler)
	}, "failed to call webhook"},
	{"a patch that is none", respondReview(`"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"e30="`),
		"received undecodable patch"},
	{"a patch of no type", respondReview(`"uid":"UID","allowed":true,"patch":"W10="`),
		"webhook returned response.patch but not response.patchType"},
	{"a type of no patch", respondReview(`"uid":"UID","allowed":true,"patchType":"JSONPatch"`),
		"webhook returned response.patchType but not response.patch"},
	{"a patch of another type",
		respondReview(`"uid":"UID","allowed":true,"patchType":"Merge","patch":"W3sib3AiOiJhZGQifV0="`),
		`unsupported patch type "Merge"`},
}

// respond answers with a text.
func respond(text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, uid string) {
		fmt.Fprint(w, strings.ReplaceAll(text, "UID", uid))
	}
}

// respondReview answers with a review whose response has these members.
func respondReview(members string) func(http.ResponseWriter, *http.Request, string) {
	return respond(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{` + members + `}}`)
}

func respondError(code int) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) { http.Error(w, "no", code) }
}

func respondRedirect(code int) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, "https://192.0.2.1/admit", code)
	}
}

// respondHuge sends an answer of 17 MiB.
func respondHuge(w http.ResponseWriter, _ *http.Request, _ string) {
	fmt.Fprint(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"`)
	mebibyte := strings.Repeat("0123456789abcdef", 1<<16)
	for range 17 {
		if _, err := fmt.Fprint(w, mebibyte); err != nil {
			return // the server has stopped reading
		}
	}
}

// startRawWebhook starts a webhook with such an answer.
func startRawWebhook(t testing.TB, answer func(http.ResponseWriter, *http.Request, string)) *webhook {
	t.Helper()
	g := startWebhook(t, nil)
	g.raw = answer
	return g
}

// Invalid answers reject the write, or are ignored if the failure policy is Ignore.
func TestInvalidWebhookResponseRejectsWrite(t *testing.T) {
	t.Parallel()
	for _, bad := range badAnswers {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			g := startRawWebhook(t, bad.answer)
			registerWebhook(t, w, mutatingPath, "bad", g, "")
			r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
			r.wantError(t, http.StatusInternalServerError, metav1.StatusReasonInternalError,
				`failed calling webhook "bad.example.com": `)
			r.wantError(t, http.StatusInternalServerError, metav1.StatusReasonInternalError, bad.text)
			w.get(t, configMaps+"/a").want(t, http.StatusNotFound)
			patchWebhook(t, w, mutatingPath, "bad", "failurePolicy", `"Ignore"`)
			w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
			if n := len(g.requests()); n < 2 {
				t.Errorf("the webhook was called %d times, want at least 2: failurePolicy Ignore does not skip the call", n)
			}
		})
	}
}

// patchWebhook replaces a field of a configuration's webhook.
func patchWebhook(t testing.TB, w *testPlane, path, name, member, value string) {
	t.Helper()
	patch := `[{"op":"add","path":"/webhooks/0/` + member + `","value":` + value + `}]`
	w.send(t, http.MethodPatch, path+"/"+name, patch, "Content-Type", jsonPatchType).want(t,
		http.StatusOK)
}

// A validating webhook cannot patch the object.
func TestValidatingWebhookCannotPatch(t *testing.T) {
	t.Parallel()
	w := start(t)
	registerWebhook(t, w, validatingPath, "patches",
		startWebhook(t, patched(`[{"op":"add","path":"/data","value":{}}]`)), "")
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusInternalServerError,
		metav1.StatusReasonInternalError,
		"received invalid webhook response: validating webhook may not return response.patch")
}

// A webhook that does not answer, sends bytes slowly or asks for a retry is canceled at its configured
// timeout, which the error states.
func TestAdmissionWebhookTimeout(t *testing.T) {
	t.Parallel()
	hang := func(w http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, string){
		"says nothing": hang,
		"never ends its answer": func(w http.ResponseWriter, r *http.Request, uid string) {
			fmt.Fprint(w, `{"apiVersion":"admission.k8s.io/v1",`)
			w.(http.Flusher).Flush()
			hang(w, r, uid)
		},
		"puts off": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		for _, path := range []string{mutatingPath, validatingPath} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				w := start(t)
				timeouts := make(chan string, 100)
				g := startRawWebhook(t, func(w http.ResponseWriter, r *http.Request, uid string) {
					timeouts <- r.URL.Query().Get("timeout")
					answer(w, r, uid)
				})
				registerWebhook(t, w, path, "hangs", g, `"timeoutSeconds":1`)
				startTime := time.Now()
				w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t,
					http.StatusInternalServerError,
					metav1.StatusReasonInternalError,
					`failed calling webhook "hangs.example.com": failed to call webhook: `)
				if took := time.Since(startTime); took < 900*time.Millisecond {
					t.Errorf("canceled after %v, want the timeout of 1 s", took)
				}
				if got := <-timeouts; got != "1s" {
					t.Errorf("the timeout in the query is %q", got)
				}
				patchWebhook(t, w, path, "hangs", "failurePolicy", `"Ignore"`)
				w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
			})
		}
	}
}

// The call of a webhook is canceled when the writer disconnects.
func TestDisconnectCancelsWebhookCall(t *testing.T) {
	t.Parallel()
	w := start(t)
	called, ended := make(chan bool), make(chan bool)
	g := startRawWebhook(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		called <- true
		<-r.Context().Done()
		ended <- true
	})
	registerWebhook(t, w, mutatingPath, "hangs", g, `"timeoutSeconds":30`)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go w.try(ctx, http.MethodPost, configMaps, strings.NewReader(`{"metadata":{"name":"a"}}`))
	<-called
	leave()
	<-ended
	w.get(t, configMaps+"/a").want(t, http.StatusNotFound)
}

// A webhook that sends a write for each write that it reviews, and so causes an endless recursion, is stopped
// by its timeouts and the server's seats. Nothing is stored, and other requests are served.
func TestWebhookRecursionIsBounded(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startRawWebhook(t, func(rw http.ResponseWriter, r *http.Request, uid string) {
		nested, err := w.try(r.Context(), http.MethodPost, configMaps,
			strings.NewReader(`{"metadata":{"generateName":"loop-"}}`))
		if err != nil || nested.code != http.StatusCreated {
			respondReview(`"uid":"UID","allowed":false,"status":{"message":"round and round"}`)(rw, r, uid)
			return
		}
		respondReview(`"uid":"UID","allowed":true`)(rw, r, uid)
	})
	registerWebhook(t, w, mutatingPath, "loops", g, `"timeoutSeconds":1`)
	if r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`); r.code < 400 {
		t.Errorf("answered %d, want an error", r.code)
	}
	w.send(t, http.MethodPost, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`).want(t,
		http.StatusCreated)
	if names := w.names(t, configMaps); names != "" { // while reviews of the recursive writes are pending
		t.Errorf("stored: %s", names)
	}
	w.send(t, http.MethodDelete, mutatingPath+"/loops", "").want(t, http.StatusOK)
	t.Logf("asked %d times", len(g.requests()))
}

// Webhooks that undo each other's changes are called twice each, and not more.
func TestReinvocationIsLimitedToOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := startWebhook(t, patched(`[{"op":"add","path":"/data","value":{"whose":"a"}}]`))
	b := startWebhook(t, patched(`[{"op":"add","path":"/data","value":{"whose":"b"}}]`))
	registerWebhook(t, w, mutatingPath, "a", a, `"reinvocationPolicy":"IfNeeded"`)
	registerWebhook(t, w, mutatingPath, "b", b, `"reinvocationPolicy":"IfNeeded"`)
	obj := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"x"}}`).want(t, http.StatusCreated).object(t)
	if n, m := len(a.requests()), len(b.requests()); n != 2 || m != 2 || valueAt(obj, "data", "whose") != "b" {
		t.Errorf("the webhooks were called %d and %d times, and the object has the value of %v", n, m,
			valueAt(obj, "data", "whose"))
	}
}

// Validating webhooks are called concurrently. The first rejection in order is the answer.
func TestValidatingWebhooksAreConcurrent(t *testing.T) {
	t.Parallel()
	w := start(t)
	const count = 5
	called, all := make(chan bool, count), make(chan bool)
	go func() {
		for range count {
			<-called
		}
		close(all)
	}()
	for i := range count {
		g := startRawWebhook(t, func(rw http.ResponseWriter, r *http.Request, uid string) {
			called <- true
			select {
			case <-all:
			case <-r.Context().Done():
				return
			}
			answer := `"uid":"UID","allowed":true`
			if i > 2 {
				answer = fmt.Sprintf(`"uid":"UID","allowed":false,"status":{"code":403,"message":"refused by %d"}`, i)
			}
			respondReview(answer)(rw, r, uid)
		})
		registerWebhook(t, w, validatingPath, fmt.Sprintf("v%d", i), g, "")
	}
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusForbidden, "",
		`admission webhook "v3.example.com" denied the request: refused by 3`)
}

// The status of a webhook's rejection is the answer, unless it is a success.
func TestWebhookDenialStatus(t *testing.T) {
	t.Parallel()
	w := start(t)
	for i, s := range []struct {
		status *metav1.Status
		code   int
		reason metav1.StatusReason
		text   string
	}{
		{nil, http.StatusBadRequest, "", "denied the request without explanation"},
		{&metav1.Status{Reason: "TooMany"}, http.StatusBadRequest, "TooMany", "denied the request: TooMany"},
		{&metav1.Status{Code: http.StatusTeapot, Message: "tea"}, http.StatusTeapot, "", "denied the request: tea"},
		{&metav1.Status{Code: http.StatusOK, Message: "fine"}, http.StatusBadRequest, "", "denied the request: fine"},
	} {
		name := fmt.Sprintf("r%d", i)
		g := startWebhook(t, func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Result: s.status}
		})
		registerWebhook(t, w, validatingPath, name, g, "")
		w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, s.code, s.reason,
			`admission webhook "`+name+`.example.com" `+s.text)
		w.send(t, http.MethodDelete, validatingPath+"/"+name, "").want(t, http.StatusOK)
	}
}
