package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// changed answers a review after a function has changed its first object.
func changed(change func(u *unstructured.Unstructured)) func(*apiextensionsv1.ConversionReview, http.ResponseWriter) {
	return func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
		change(r.Response.ConvertedObjects[0].Object.(*unstructured.Unstructured))
		json.NewEncoder(w).Encode(r)
	}
}

// invalidReviews are invalid answers of a webhook, with the error of each.
func invalidReviews() map[string]invalidReview {
	const failed = "conversion webhook for example.com/v1, Kind=Lamp failed: "
	const returned = "conversion webhook for example.com/v1, Kind=Lamp returned "
	return map[string]invalidReview{
		"no JSON": {func(_ *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			w.Write([]byte("hello"))
		}, failed},
		"an error": {func(_ *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			http.Error(w, "tired", 500)
		}, failed + `an error on the server ("tired") has prevented the request from succeeding`},
		"not found": {func(_ *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			http.NotFound(w, nil)
		}, failed + "the server could not find the requested resource"},
		"a loop": {func(_ *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			w.Header().Set("Location", "/again")
			w.WriteHeader(307)
		}, failed + "Post "},
		"not changed": {func(_ *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			w.WriteHeader(304)
		}, failed},
		"a panic": {func(*apiextensionsv1.ConversionReview, http.ResponseWriter) {
			panic(http.ErrAbortHandler)
		}, failed + "Post "},
		"too much": {func(_ *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			for block := make([]byte, 1<<20); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "the response is larger than"},
		"a refusal": {func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			r.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: "I know no lamps"}
			json.NewEncoder(w).Encode(r)
		}, failed + "I know no lamps"},
		"no status": {func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			r.Response.Result = metav1.Status{}
			json.NewEncoder(w).Encode(r)
		}, failed + "response.result.status was '', not 'Success'"},
		"another uid": {func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			r.Response.UID = "x"
			json.NewEncoder(w).Encode(r)
		}, `, got "x"`},
		"no response": {func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			r.Response = nil
			json.NewEncoder(w).Encode(r)
		}, failed + "no response provided"},
		"another version of reviews": {func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			r.APIVersion = "apiextensions.k8s.io/v1beta1"
			json.NewEncoder(w).Encode(r)
		}, failed},
		"nothing": {func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			r.Response.ConvertedObjects = nil
			json.NewEncoder(w).Encode(r)
		}, returned + "0 objects, expected 1"},
		"one too many": {func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
			r.Response.ConvertedObjects = append(r.Response.ConvertedObjects, r.Response.ConvertedObjects...)
			json.NewEncoder(w).Encode(r)
		}, returned + "2 objects, expected 1"},
		"what it was": {changed(func(u *unstructured.Unstructured) {
			u.SetAPIVersion("example.com/v1")
		}),
			returned +
				"invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)"},
		"another kind": {changed(func(u *unstructured.Unstructured) {
			u.SetKind("Lamb")
		}), returned + "invalid object at index 0: invalid kind (expected Lamp, received Lamb)"},
		"another name": {changed(func(u *unstructured.Unstructured) {
			u.SetName("b")
		}), returned + "invalid object: must have the same name: a != b"},
		"another namespace": {changed(func(u *unstructured.Unstructured) {
			u.SetNamespace("kube-system")
		}), returned + "invalid object: must have the same namespace: default != kube-system"},
		"another object": {changed(func(u *unstructured.Unstructured) {
			u.SetUID(types.UID("x"))
		}), returned + "invalid object: must have the same UID: "},
		"a bad label": {changed(func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"a b": "c"})
		}), returned + "invalid metadata: metadata.labels: Invalid value: \"a b\""},
		"labels in a text": {changed(func(u *unstructured.Unstructured) {
			u.Object["metadata"].(map[string]any)["labels"] = "a=b"
		}), returned + "invalid metadata: invalid metadata.labels of type string in converted object"},
		"a label of a number": {changed(func(u *unstructured.Unstructured) {
			u.Object["metadata"].(map[string]any)["labels"] = map[string]any{"a": 1}
		}), returned + "invalid metadata: metadata.labels[a] must be a string, but is "},
		"no metadata": {changed(func(u *unstructured.Unstructured) {
			delete(u.Object, "metadata")
		}), returned + "invalid object: must have the same name: a != "},
	}
}

type invalidReview struct {
	answer func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter)
	want   string
}

// Each invalid answer results in the error of Kubernetes' converter (webhook_converter.go of
// k8s.io/apiextensions-apiserver). Clients do not see the answer, and the stored object is unchanged.
func TestConversionWebhookInvalidResponses(t *testing.T) {
	t.Parallel()
	for name, c := range invalidReviews() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h := start(t), startConversionWebhook(t)
			define(t, w, h.lamps(t))
			h.answer = c.answer
			w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
			before := w.state(t, lampsV1)
			for _, path := range []string{lampsV2 + "/a", lampsV2} {
				if s := w.get(t, path).wantError(t, http.StatusInternalServerError, "",
					c.want); strings.Contains(s.Message, "JSON") {
					t.Errorf("the message contains JSON: %s", s.Message)
				}
			}
			w.send(t, http.MethodPatch, lampsV2+"/a", `{"spec":{"paint":"blue"}}`, "Content-Type",
				mergeType).wantError(t,
				http.StatusInternalServerError, "", c.want)
			w.send(t, http.MethodDelete, lampsV2+"/a", "").wantError(t, http.StatusInternalServerError, "", c.want)
			if after := w.state(t, lampsV1); after != before {
				t.Errorf("stored\n%s, was\n%s", after, before)
			}
		})
	}
}

// A webhook cannot change metadata other than labels and annotations.
func TestConversionWebhookCannotChangeMetadata(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	h.answer = changed(func(u *unstructured.Unstructured) {
		u.SetFinalizers([]string{"example.com/never"})
		u.SetGeneration(99)
		u.SetAnnotations(map[string]string{"by": "the webhook"})
	})
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	got := w.get(t, lampsV2+"/a").want(t, http.StatusOK).object(t)
	if valueAt(got, "metadata", "finalizers") != nil || valueAt(got, "metadata", "generation") != 1.0 ||
		valueAt(got, "metadata", "annotations", "by") != "the webhook" {
		t.Errorf("the object has the metadata %v", got["metadata"])
	}
}

// A webhook that does not answer delays only the requests that need it.
func TestHangingConversionDelaysOnlyItsRequests(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	hangs, over := make(chan struct{}, 8), make(chan struct{})
	release := sync.OnceFunc(func() { close(over) })
	t.Cleanup(release)
	h.answer = func(*apiextensionsv1.ConversionReview, http.ResponseWriter) { hangs <- struct{}{}; <-over }
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		w.try(ctx, http.MethodGet, lampsV2+"/a", http.NoBody)
	}()
	<-hangs
	w.get(t, lampsV1+"/a").want(t, http.StatusOK)
	w.create(t, lampsV1, lamp("v1", "b", `{"color":"red"}`))
	w.send(t, http.MethodDelete, lampsV1+"/a", "").want(t, http.StatusOK)
	cancel()
	<-answered // the client does not wait for the call, which has its own timeout of 30 seconds, as in Kubernetes
	release()
	began := time.Now()
	if err := w.Close(); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("Close took %v and returned %v", time.Since(began), err)
	}
}

// A request ends at its deadline although a conversion webhook does not answer. It gives its seats back, and commits
// nothing, once the webhook answers.
func TestRequestTimesOutWhileConversionHangs(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*testPlane{"in process": start(t), "HTTP/2": startTLS(t),
		"HTTP/1.1": http1(t, startTLS(t))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startConversionWebhook(t)
			define(t, w, h.lamps(t))
			w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
			before, idle := w.state(t, lampsV1+"/a"), seats(t, w)
			over := make(chan struct{})
			release := sync.OnceFunc(func() { close(over) })
			t.Cleanup(release)
			h.answer = func(review *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
				<-over
				json.NewEncoder(w).Encode(review)
			}
			for _, c := range []struct{ method, path, body string }{
				{http.MethodGet, lampsV2 + "/a", ""}, {http.MethodGet, lampsV2, ""},
				{http.MethodPost, lampsV2, lamp("v2", "b", `{"paint":"red"}`)},
				{http.MethodPatch, lampsV2 + "/a", `{"spec":{"watts":1}}`},
			} {
				w.send(t, c.method, c.path+"?timeout=200ms", c.body, "Content-Type", patchTypeFor(c.method)).wantError(t,
					http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "")
			}
			if name != "in process" && seats(t, w) == idle { // requests in process need no seats
				t.Error("the requests have given their seats back while they still run")
			}
			release()
			for deadline := time.Now().Add(20 * time.Second); seats(t, w) != idle; {
				if time.Now().After(deadline) {
					t.Fatalf("%s seats are held, want %s as before", seats(t, w), idle)
				}
				time.Sleep(10 * time.Millisecond)
			}
			if after, names := w.state(t, lampsV1+"/a"), w.names(t, lampsV1); after != before || names != "a" {
				t.Errorf("after the requests that timed out, the lamps are %q and a is\n%s\nwant\n%s", names, after, before)
			}
		})
	}
}

// seats returns the metric of the seats that requests hold, including this one.
func seats(t *testing.T, w *testPlane) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^apiserver_flowcontrol_current_executing_seats\{.*\} (.*)$`).FindStringSubmatch(w.scrape(t))
	if found == nil {
		t.Fatal("no metric of seats")
	}
	return found[1]
}

// A webhook may use reviews of v1beta1, which have no uid.
func TestConversionReviewV1beta1(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	crd := h.lamps(t)
	crd.Spec.Conversion.Webhook.ConversionReviewVersions = []string{"v7", "v1beta1", "v1"}
	define(t, w, crd)
	versions := make(chan string, 1)
	h.answer = func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
		versions <- r.APIVersion
		r.Response.UID = ""
		json.NewEncoder(w).Encode(r)
	}
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	w.get(t, lampsV2+"/a").want(t, http.StatusOK)
	if got := <-versions; got != "apiextensions.k8s.io/v1beta1" {
		t.Errorf("asked in %s", got)
	}
}

// The webhook of an ExternalName service is called at the external name, and its certificate has the
// service's name.
func TestConversionWebhookService(t *testing.T) {
	t.Parallel()
	w := start(t)
	crd := definitionOf(t, lampDefinition)
	port := int32(8443)
	crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "default", Name: "hook", Port: &port}}
	define(t, w, crd)
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	w.get(t, lampsV2+"/a").wantError(t, http.StatusInternalServerError, "",
		`Post "https://hook.default.svc:8443/?timeout=30s": service "hook" not found`)
	services := "/api/v1/namespaces/default/services"
	w.create(t, services,
		`{"metadata":{"name":"hook"},"spec":{"type":"ExternalName","externalName":"127.0.0.1.nowhere.invalid"}}`)
	w.get(t, lampsV2+"/a").wantError(t, http.StatusInternalServerError, "", "127.0.0.1.nowhere.invalid")
	w.send(t, http.MethodDelete, services+"/hook", "").want(t, http.StatusOK)
	w.create(t, services, `{"metadata":{"name":"hook"},"spec":{"clusterIP":"None"}}`)
	w.get(t, lampsV2+"/a").wantError(t, http.StatusInternalServerError, "",
		`cannot route to service with ClusterIP "None"`)
	w.send(t, http.MethodDelete, services+"/hook", "").want(t, http.StatusOK)
	w.create(t, services, `{"metadata":{"name":"hook"},"spec":{"ports":[{"port":443}]}}`)
	w.get(t, lampsV2+"/a").wantError(t, http.StatusInternalServerError, "",
		`no service port 8443 found for service "hook"`)
}

// Instances that cannot be deleted delay the deletion of their definition, whose status names the reason.
func TestDefinitionWaitsForFailedInstanceDeletion(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	w.create(t, lampsV1,
		`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a","finalizers":["example.com/hold"]},"spec":{}}`)
	path := definitionsPath + "/lamps.example.com"
	w.send(t, http.MethodPatch, path,
		`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`,
		"Content-Type", jsonPatchType).want(t, http.StatusOK)
	var broken bool
	h.answer = func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
		if broken = !broken; broken { // every second time: the first deletion, but not the one that is tried next
			r.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: "not now"}
		}
		json.NewEncoder(w).Encode(r)
	}
	watch := must(w.dynamic.Resource(definitionsResource).Watch(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=lamps.example.com"}))(t)
	defer watch.Stop()
	undefine(t, w, "lamps.example.com")
	var reasons []string
	for e := range watch.ResultChan() {
		if reason := terminating(e.Object.(*unstructured.Unstructured)); reason != "" &&
			(len(reasons) == 0 || reasons[len(reasons)-1] != reason) {
			reasons = append(reasons, reason)
		}
		if len(reasons) == 3 {
			break
		}
	}
	if got := strings.Join(reasons,
		" "); got != "InstanceDeletionPending InstanceDeletionFailed InstanceDeletionInProgress" {
		t.Errorf("terminating: %s", got)
	}
}

// terminating returns the reason of a definition's condition.
func terminating(crd *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Terminating" {
			return c["reason"].(string)
		}
	}
	return ""
}
