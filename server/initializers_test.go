package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/store/storetest"
)

const (
	initializersPath = "/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations"
	hidden           = "?includeUninitialized=true"
)

// initializers declares who initializes the objects of a resource.
func (w *world) initializers(t testing.TB, name, resource string, names ...string) {
	t.Helper()
	var all []map[string]any
	for _, n := range names {
		all = append(all, map[string]any{"name": n, "rules": []any{
			map[string]any{"apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{resource}},
		}})
	}
	body := must(json.Marshal(map[string]any{"metadata": map[string]any{"name": name}, "initializers": all}))(t)
	w.send(t, http.MethodPost, initializersPath, string(body)).want(t, http.StatusCreated)
}

// begin sends a request whose answer may wait.
func (w *world) begin(t testing.TB, method, path, body string, headers ...string) <-chan reply {
	answer := make(chan reply, 1)
	go func() {
		r, err := w.try(context.WithoutCancel(t.Context()), method, path, strings.NewReader(body), headers...)
		if err != nil {
			r.body = []byte(err.Error())
		}
		answer <- r
	}()
	return answer
}

// pending are the names of the initializers that an object waits for.
func pending(obj map[string]any) string {
	var names []string
	list, _ := at(obj, "metadata", "initializers", "pending").([]any)
	for _, p := range list {
		names = append(names, p.(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

// merge sends a merge patch.
func (w *world) merge(t testing.TB, path, patch string) reply {
	t.Helper()
	return w.send(t, http.MethodPatch, path, patch, "Content-Type", mergeType)
}

// TestObjectIsHiddenUntilItIsInitialized follows one: who lists or watches sees it added when the last initializer is done, and its
// creator hears of it then; who asks for uninitialized objects sees all of it. Its name is taken from the beginning.
func TestObjectIsHiddenUntilItIsInitialized(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.initializers(t, "b", "configmaps", "third.example.com", "first.example.com")
		w.initializers(t, "a", "configmaps", "first.example.com", "second.example.com")
		w.initializers(t, "c", "secrets", "other.example.com")
		seen, all := w.open(t, configMaps+"?watch=1"), w.open(t, configMaps+hidden+"&watch=1")
		labelled := w.open(t, configMaps+"?watch=1&labelSelector=done")
		answer := w.begin(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
		synctest.Wait()
		if got := w.names(t, configMaps); got != "" {
			t.Errorf("a list shows %q", got)
		}
		if got := w.names(t, configMaps, "includeUninitialized", "true"); got != "a" {
			t.Errorf("a list of all shows %q", got)
		}
		const all3 = "first.example.com second.example.com third.example.com"
		if got := pending(w.get(t, configMaps+"/a").object(t)); got != all3 {
			t.Errorf("pending are %q", got)
		}
		if got := pending(all.want(t, "ADDED a").Object); got != all3 {
			t.Errorf("seen pending are %q", got)
		}
		w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).refused(t, http.StatusConflict, metav1.StatusReasonAlreadyExists, "")
		w.merge(t, configMaps+"/a", `{"data":{"k":"1"},"metadata":{"initializers":{"pending":[{"name":"second.example.com"},{"name":"third.example.com"}]}}}`).want(t, 200)
		w.merge(t, configMaps+"/a", `{"metadata":{"labels":{"done":"1"},"initializers":{"pending":[{"name":"third.example.com"}]}}}`).want(t, 200)
		if got := pending(all.want(t, "MODIFIED a", "MODIFIED a").Object); got != "third.example.com" {
			t.Errorf("seen pending are %q", got)
		}
		synctest.Wait()
		select {
		case r := <-answer:
			t.Fatalf("its creator was answered before it was initialized: %s", r.body)
		default:
		}
		w.merge(t, configMaps+"/a", `{"metadata":{"initializers":{"pending":[]}}}`).want(t, 200)
		obj := (<-answer).want(t, http.StatusCreated).object(t)
		if at(obj, "data", "k") != "1" || at(obj, "metadata", "initializers") != nil {
			t.Errorf("its creator hears of %v", obj)
		}
		all.want(t, "MODIFIED a")
		for _, watch := range []*streaming{seen, labelled} {
			if e := watch.want(t, "ADDED a"); at(e.Object, "data", "k") != "1" || at(e.Object, "metadata", "initializers") != nil {
				t.Errorf("seen as %v", e.Object)
			}
		}
		w.merge(t, configMaps+"/a", `{"data":{"k":"2"}}`).want(t, 200)
		seen.want(t, "MODIFIED a")
		w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, 200)
		seen.want(t, "DELETED a")
	})
}

// TestSourceHidesUninitializedObjects from informers of the same process, unless they ask for them.
func TestSourceHidesUninitializedObjects(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.initializers(t, "a", "configmaps", "first.example.com")
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	now := must(w.Source().List(t.Context(), resource, client.Options{}))(t).Revision
	watch := must(w.Source().Watch(t.Context(), resource, client.Options{After: now}))(t)
	defer watch.Stop()
	w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	for asked, want := range map[bool]int{false: 0, true: 1} {
		list := must(w.Source().List(t.Context(), resource, client.Options{Uninitialized: asked}))(t)
		if len(list.Items) != want {
			t.Errorf("asked for them %v: %d items", asked, len(list.Items))
		}
	}
	wire := client.NewSource(must(client.New(w.config))(t))
	if list := must(wire.List(t.Context(), resource, client.Options{Uninitialized: true}))(t); len(list.Items) != 1 {
		t.Errorf("over the wire: %d items", len(list.Items))
	}
	w.merge(t, configMaps+"/a", `{"metadata":{"initializers":null}}`).want(t, 200)
	events := must(watch.Next(t.Context()))(t)
	if len(events) != 1 || events[0].Type != "ADDED" {
		t.Errorf("seen %v", events)
	}
}

// TestCreateWaitsAndSaysForWhom: after 30 s, or what time the client gives, it ends and the object stays as it is. Nobody waits
// who asks not to.
func TestCreateWaitsAndSaysForWhom(t *testing.T) {
	t.Parallel()
	const document = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"}}`
	for _, c := range []struct {
		method, query, contentType string
		waits                      time.Duration
	}{
		{http.MethodPost, "", jsonType, 30 * time.Second},
		{http.MethodPost, "?timeout=7s", jsonType, 7 * time.Second},
		{http.MethodPost, "?timeout=50s", jsonType, 30 * time.Second},
		{http.MethodPatch, "?fieldManager=m", applyType, 30 * time.Second},
		{http.MethodPost, hidden, jsonType, 0},
		{http.MethodPost, "?dryRun=All", jsonType, 0},
	} {
		t.Run(strings.TrimPrefix(c.method+" "+c.query, "?"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.initializers(t, "a", "configmaps", "first.example.com", "second.example.com")
				begun, path := time.Now(), configMaps
				if c.method == http.MethodPatch {
					path += "/a"
				}
				r := w.send(t, c.method, path+c.query, fmt.Sprintf(document, "a"), "Content-Type", c.contentType)
				if waited := time.Since(begun); waited != c.waits {
					t.Errorf("waited %v, not %v", waited, c.waits)
				}
				if c.waits == 0 {
					if got := pending(r.want(t, http.StatusCreated).object(t)); got != "first.example.com second.example.com" {
						t.Errorf("pending are %q", got)
					}
					return
				}
				r.refused(t, http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
					"server has timed out waiting for the initialization of configmaps a: it is created, and pending are first.example.com, second.example.com")
				if got := pending(w.get(t, configMaps+"/a").object(t)); got != "first.example.com second.example.com" {
					t.Errorf("pending are %q", got)
				}
			})
		})
	}
}

// TestCreatesThatWaitHoldNobodyUp: there are more of them than requests may work at once, and whoever initializes has its turn.
func TestCreatesThatWaitHoldNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.initializers(t, "a", "configmaps", "first.example.com")
		var answers []<-chan reply
		for i := range 1000 {
			answers = append(answers, w.begin(t, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":"a-%d"}}`, i)))
		}
		synctest.Wait()
		for i, answer := range answers {
			w.merge(t, fmt.Sprintf("%s/a-%d", configMaps, i), `{"metadata":{"initializers":null}}`).want(t, 200)
			(<-answer).want(t, http.StatusCreated)
		}
	})
}

// TestOnlyTheFirstInitializerIsRemoved, or all; whoever does otherwise is refused, and nothing changes.
func TestOnlyTheFirstInitializerIsRemoved(t *testing.T) {
	t.Parallel()
	const first, second, third = `{"name":"first.example.com"}`, `{"name":"second.example.com"}`, `{"name":"third.example.com"}`
	for _, c := range []struct{ rule, initializers, left, refusal string }{
		{rule: "none", initializers: `{"pending":[` + first + `,` + second + `]}`, left: "first.example.com second.example.com"},
		{rule: "the first", initializers: `{"pending":[` + second + `]}`, left: "second.example.com"},
		{rule: "all by null", initializers: `null`},
		{rule: "all by emptying the field", initializers: `{"pending":null}`},
		{rule: "the second", initializers: `{"pending":[` + first + `]}`, refusal: "only the first pending initializer may be removed"},
		{rule: "one that is added", initializers: `{"pending":[` + first + `,` + second + `,` + third + `]}`, refusal: "only the first pending"},
		{rule: "one that is put in its place", initializers: `{"pending":[` + third + `]}`, refusal: "pending are first.example.com, second.example.com"},
		{rule: "another order", initializers: `{"pending":[` + second + `,` + first + `]}`, refusal: "only the first pending"},
		{rule: "a result that is no failure", initializers: `{"result":{"status":"Success"}}`, refusal: "must be 'Failure'"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.initializers(t, "a", "configmaps", "first.example.com", "second.example.com")
			w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
			r := w.merge(t, configMaps+"/a", `{"data":{"k":"v"},"metadata":{"initializers":`+c.initializers+`}}`)
			if c.refusal != "" {
				r.refused(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, c.refusal)
				c.left = "first.example.com second.example.com"
			} else {
				r.want(t, 200)
			}
			obj := w.get(t, configMaps+"/a").object(t)
			if got := pending(obj); got != c.left || (at(obj, "data", "k") == "v") != (c.refusal == "") {
				t.Errorf("pending are %q in %v, want %q", got, obj, c.left)
			}
		})
	}
}

// TestInitializedObjectsStaySo.
func TestInitializedObjectsStaySo(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fill(t, "default", "a")
	w.initializers(t, "a", "configmaps", "first.example.com")
	w.merge(t, configMaps+"/a", `{"metadata":{"initializers":{"pending":[{"name":"first.example.com"}]}}}`).
		refused(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "field is immutable once initialization has completed")
	w.merge(t, configMaps+"/a", `{"metadata":{"initializers":null},"data":{"k":"v"}}`).want(t, 200)
	w.merge(t, configMaps+"/a", `{"metadata":{"initializers":{"pending":[]}},"data":{"k":"w"}}`).want(t, 200)
}

// TestFailureDeletesTheObject, whatever finalizers it has, and its creator hears why.
func TestFailureDeletesTheObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.initializers(t, "a", "configmaps", "first.example.com", "second.example.com")
		seen, all := w.open(t, configMaps+"?watch=1"), w.open(t, configMaps+hidden+"&watch=1")
		for _, c := range []struct {
			result string
			code   int
			reason metav1.StatusReason
		}{
			{`{"status":"Failure","message":"no room","reason":"Forbidden","code":403}`, 403, metav1.StatusReasonForbidden},
			{`{"status":"Failure","message":"no room"}`, 500, ""},
			{`{"status":"Failure","message":"no room","code":99999}`, 500, ""},
		} {
			answer := w.begin(t, http.MethodPost, configMaps, `{"metadata":{"name":"a","finalizers":["example.com/never"]}}`)
			synctest.Wait()
			w.merge(t, configMaps+"/a", `{"metadata":{"initializers":{"result":`+c.result+`}}}`).want(t, 200)
			r := (<-answer).want(t, c.code)
			var status metav1.Status
			if r.into(t, &status); status.Reason != c.reason || status.Message != "no room" {
				t.Errorf("answered %s", r.body)
			}
			w.get(t, configMaps+"/a").want(t, http.StatusNotFound)
			all.want(t, "ADDED a", "MODIFIED a", "DELETED a")
		}
		w.send(t, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"other"}}`).want(t, http.StatusCreated)
		w.send(t, http.MethodDelete, initializersPath+"/a", "").want(t, 200)
		w.fill(t, "default", "b")
		seen.want(t, "ADDED b") // and nothing of the others before
	})
}

// TestObjectThatIsDeletedIsNoLongerWaitedFor.
func TestObjectThatIsDeletedIsNoLongerWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.initializers(t, "a", "configmaps", "first.example.com")
		for _, path := range []string{configMaps + "/a", configMaps} { // a collection has it too
			answer := w.begin(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
			synctest.Wait()
			w.send(t, http.MethodDelete, path, "").want(t, 200)
			(<-answer).refused(t, http.StatusInternalServerError, metav1.StatusReasonInternalError, "object deleted while waiting for creation")
		}
	})
}

// TestClosingEndsCreatesThatWait.
func TestClosingEndsCreatesThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.initializers(t, "a", "configmaps", "first.example.com")
		answer := w.begin(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
		synctest.Wait()
		begun := time.Now()
		if err := w.Close(); err != nil || time.Since(begun) > 0 {
			t.Errorf("closing took %v, %v", time.Since(begun), err)
		}
		(<-answer).refused(t, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is stopping")
	})
}

// TestClientsWithoutTheFieldLeaveItAlone: typed ones neither send it nor keep it, in either form, nor do writes of a part of the
// object, or applies. A PUT that says null ends it.
func TestClientsWithoutTheFieldLeaveItAlone(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.initializers(t, "a", "pods", "first.example.com", "second.example.com")
	body := `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	w.send(t, http.MethodPost, podsPath+hidden, body).want(t, http.StatusCreated)
	still := func(what string) {
		t.Helper()
		obj := w.get(t, podsPath+"/a").object(t)
		if got := pending(obj); got != "first.example.com second.example.com" || at(obj, "metadata", "annotations", what) != "1" && what != "status" {
			t.Errorf("%s: pending are %q of %v", what, got, obj["metadata"])
		}
	}
	for _, contentType := range []string{jsonType, protobufType} {
		pods := typed(t, w.config, contentType).CoreV1().Pods("default")
		pod := must(pods.Get(t.Context(), "a", metav1.GetOptions{}))(t)
		if len(pod.Annotations) > 0 && contentType == jsonType {
			t.Errorf("%s: annotations %v", contentType, pod.Annotations)
		}
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, strings.ReplaceAll(contentType, "/", "."), "1")
		must(pods.Update(t.Context(), pod, metav1.UpdateOptions{}))(t)
		still(strings.ReplaceAll(contentType, "/", "."))
		pod = must(pods.Get(t.Context(), "a", metav1.GetOptions{}))(t)
		pod.Status.Message = contentType
		must(pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}))(t)
		still("status")
	}
	w.apply(t, podsPath+"/a", "m", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"applied":"1"}}}`).want(t, 200)
	still("applied")
	w.merge(t, podsPath+"/a/status", `{"metadata":{"initializers":null,"annotations":{"part":"1"}}}`).want(t, 200)
	still("part")
	obj := w.get(t, podsPath+"/a").object(t)
	obj["metadata"].(map[string]any)["initializers"] = nil
	w.send(t, http.MethodPut, podsPath+"/a", string(must(json.Marshal(obj))(t))).want(t, 200)
	if got := w.names(t, podsPath); got != "a" {
		t.Errorf("a PUT that says null leaves %q to be seen", got)
	}
}

// TestPatchesEndInitialization: each form of a patch, with a change that no update of a pod may make later.
func TestPatchesEndInitialization(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ contentType, patch string }{
		"merge":          {mergeType, `{"metadata":{"initializers":null},"spec":{"containers":[{"name":"c","image":"i"},{"name":"proxy","image":"p"}]}}`},
		"JSON":           {jsonPatch, `[{"op":"remove","path":"/metadata/initializers"},{"op":"add","path":"/spec/containers/-","value":{"name":"proxy","image":"p"}}]`},
		"JSON, a name":   {jsonPatch, `[{"op":"test","path":"/metadata/initializers/pending/0/name","value":"first.example.com"},{"op":"remove","path":"/metadata/initializers/pending/0"},{"op":"add","path":"/spec/containers/-","value":{"name":"proxy","image":"p"}}]`},
		"strategic":      {strategic, `{"metadata":{"initializers":null},"spec":{"containers":[{"name":"proxy","image":"p"}]}}`},
		"strategic name": {strategic, `{"metadata":{"initializers":{"pending":[{"$patch":"delete","name":"first.example.com"}]}},"spec":{"containers":[{"name":"proxy","image":"p"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.initializers(t, "a", "pods", "first.example.com")
			body := `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
			w.send(t, http.MethodPost, podsPath+hidden, body).want(t, http.StatusCreated)
			w.send(t, http.MethodPatch, podsPath+"/a", c.patch, "Content-Type", c.contentType).want(t, 200)
			pods := must(w.clients.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}))(t)
			if len(pods.Items) != 1 || len(pods.Items[0].Spec.Containers) != 2 {
				t.Fatalf("seen %v", pods.Items)
			}
			w.merge(t, podsPath+"/a", `{"spec":{"containers":[{"name":"c","image":"i"}]}}`).
				refused(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "pod updates may not add or remove containers")
		})
	}
}

// TestUpdatesOfUninitializedObjectsAreJudgedAsCreates.
func TestUpdatesOfUninitializedObjectsAreJudgedAsCreates(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.initializers(t, "a", "pods", "first.example.com")
	w.send(t, http.MethodPost, podsPath+hidden, `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`).want(t, http.StatusCreated)
	w.merge(t, podsPath+"/a", `{"spec":{"containers":[{"name":"C!","image":"i"}]}}`).
		refused(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.containers[0].name")
	w.merge(t, podsPath+"/a", `{"metadata":{"initializers":null},"spec":{"containers":[]}}`).
		refused(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.containers: Required value")
	if got := w.names(t, podsPath); got != "" {
		t.Errorf("what was refused is seen: %q", got)
	}
}

// TestCreatorsMaySayWhoInitializes, or that nobody does; what they may not is refused.
func TestCreatorsMaySayWhoInitializes(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.initializers(t, "a", "configmaps", "first.example.com")
	for initializers, want := range map[string]string{
		`null`: "first.example.com", `{}`: "", `{"pending":[]}`: "", `{"pending":[{"name":"mine.example.com"}]}`: "mine.example.com",
	} {
		obj := w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"generateName":"a","initializers":`+initializers+`}}`).want(t, 201).object(t)
		if got := pending(obj); got != want || want == "" && at(obj, "metadata", "initializers") != nil {
			t.Errorf("%s: %v", initializers, obj)
		}
	}
	for initializers, refusal := range map[string]string{
		`{"pending":[{"name":"mine"}]}`:                                         "should be a domain with at least three segments separated by dots",
		`{"pending":[{"name":""}]}`:                                             "metadata.initializers.pending[0].name: Required value",
		`{"pending":[{"name":"mine.example.com"},{"name":"mine.example.com"}]}`: `metadata.initializers.pending[1].name: Duplicate value: "mine.example.com"`,
		`{"result":{"status":"Failure"}}`:                                       "metadata.initializers.result: Forbidden",
	} {
		w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"b","initializers":`+initializers+`}}`).
			refused(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, refusal)
	}
	for _, initializers := range []string{`"x"`, `{"pending":{}}`, `[1]`} {
		w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"b","initializers":`+initializers+`}}`).
			refused(t, http.StatusBadRequest, metav1.StatusReasonBadRequest, "cannot unmarshal")
	}
}

// TestCustomResourcesAreInitialized.
func TestCustomResourcesAreInitialized(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.define(t, widgets())
	w.initializers(t, "a", "widgets", "first.example.com", "second.example.com")
	w.send(t, http.MethodPost, widgetsPath+hidden, widget("a", `{"size":1}`)).want(t, http.StatusCreated)
	if got := w.names(t, widgetsPath); got != "" {
		t.Errorf("seen %q", got)
	}
	all := w.dynamic.Resource(widgetsResource).Namespace("default")
	u := must(all.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if got := pending(u.Object); got != "first.example.com second.example.com" {
		t.Errorf("pending are %q", got)
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "initializers") // as a client without the field would
	u.SetLabels(map[string]string{"a": "b"})
	u = must(all.Update(t.Context(), u, metav1.UpdateOptions{}))(t)
	w.apply(t, widgetsPath+"/a", "m", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"applied":"1"}}}`).want(t, 200)
	w.merge(t, widgetsPath+"/a/status", `{"metadata":{"initializers":null},"status":{"ready":true}}`).want(t, 200)
	if got := pending(w.get(t, widgetsPath+"/a").object(t)); got != "first.example.com second.example.com" || u.GetLabels()["a"] != "b" {
		t.Errorf("pending are %q, of %v", got, u)
	}
	w.merge(t, widgetsPath+"/a", `{"metadata":{"initializers":{"pending":[{"name":"second.example.com"}]}}}`).want(t, 200)
	w.merge(t, widgetsPath+"/a", `{"metadata":{"initializers":{"pending":[]}}}`).want(t, 200)
	if got := w.names(t, widgetsPath); got != "a" {
		t.Errorf("seen %q", got)
	}
	if obj := w.get(t, widgetsPath+"/a").object(t); at(obj, "metadata", "initializers") != nil || at(obj, "metadata", "labels", "applied") != "1" {
		t.Errorf("it is %v", obj)
	}
	w.send(t, http.MethodPost, widgetsPath+hidden, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","initializers":"x"}}`).
		refused(t, http.StatusBadRequest, metav1.StatusReasonBadRequest, "cannot unmarshal")
}

// TestEveryFormShowsInitializers, and none what else carries them in the server; after a restart as before.
func TestEveryFormShowsInitializers(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, on(journal))
	w.initializers(t, "a", "configmaps", "first.example.com")
	w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"json"}}`).want(t, 201)
	w.sendBody(t, http.MethodPost, configMaps+hidden, strings.NewReader(string(protobuf(t, configMap("protobuf")))),
		"Content-Type", protobufType, "Accept", protobufType).want(t, 201)
	for _, restarted := range []bool{false, true} {
		for _, name := range []string{"/json", "/protobuf", hidden} {
			for _, accept := range []string{
				jsonType, yamlType, protobufType,
				"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
				"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "application/json;as=Table;g=meta.k8s.io;v=v1",
			} {
				if strings.Contains(accept, "List") != (name == hidden) && strings.Contains(accept, "Partial") {
					continue
				}
				body := string(w.get(t, configMaps+name, "Accept", accept).want(t, 200).body)
				if !strings.Contains(body, "first.example.com") || strings.Contains(body, "bowline.dev/initializers") {
					t.Errorf("%s as %s (restarted: %v):\n%s", name, accept, restarted, body)
				}
			}
		}
		if got := w.names(t, configMaps); got != "" {
			t.Errorf("restarted: %v, seen %q", restarted, got)
		}
		if !restarted {
			w = w.again(t, journal)
		}
	}
	w.merge(t, configMaps+"/protobuf", `{"metadata":{"initializers":null}}`).want(t, 200)
	if got := w.names(t, configMaps); got != "protobuf" {
		t.Errorf("seen %q", got)
	}
}

// TestNobodyOwnsInitializers, and the annotation that carries them is no way to send them.
func TestNobodyOwnsInitializers(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.initializers(t, "a", "configmaps", "first.example.com", "second.example.com")
	const body = `{"metadata":{"name":"a","annotations":{"bowline.dev/initializers":"{\"pending\":[]}"}},"data":{"k":"1"}}`
	w.send(t, http.MethodPost, configMaps+hidden+"&fieldManager=m", body).want(t, 201)
	w.send(t, http.MethodPatch, configMaps+"/a?fieldManager=n", `{"metadata":{"initializers":{"pending":[{"name":"second.example.com"}]}}}`,
		"Content-Type", mergeType).want(t, 200)
	r := w.get(t, configMaps+"/a")
	r.owned(t, `m Update v1 {"f:data":{".":{},"f:k":{}}}`)
	if got := pending(r.object(t)); got != "second.example.com" {
		t.Errorf("pending are %q", got)
	}
	w.send(t, http.MethodPatch, configMaps+"/a?fieldValidation=Strict", `{"metadata":{"initializers":{"pending":[]}}}`, "Content-Type", mergeType).want(t, 200)
}

// TestWaitingCreateIsOneToItsClient: client-go's typed one gets the object as initializers left it.
func TestWaitingCreateIsOneToItsClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.initializers(t, "a", "configmaps", "first.example.com")
		all := w.open(t, configMaps+hidden+"&watch=1")
		done := make(chan struct{})
		go func() {
			defer close(done)
			all.want(t, "ADDED a")
			w.merge(t, configMaps+"/a", `{"metadata":{"initializers":null},"data":{"k":"1"}}`).want(t, 200)
		}()
		made := must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{}))(t)
		if <-done; made.Data["k"] != "1" {
			t.Errorf("created %v", made)
		}
		_, err := w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("b"), metav1.CreateOptions{})
		if !apierrors.IsTimeout(err) {
			t.Errorf("nobody initialized b: %v", err)
		}
	})
}

// TestConfigurationsOfInitializers are stored in their forms and judged; nobody initializes them.
func TestConfigurationsOfInitializers(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.initializers(t, "all", "*", "first.example.com")
	const document = `
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: InitializerConfiguration
metadata: {name: envoy-config}
initializers:
- name: envoy.initializer.kubernetes.io
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [pods]}
`
	made := w.create(t, initializersPath, document)
	if fmt.Sprint(made["initializers"]) != "[map[name:envoy.initializer.kubernetes.io rules:[map[apiGroups:[] apiVersions:[v1] resources:[pods]]]]]" {
		t.Errorf("made %v", made)
	}
	body := w.get(t, initializersPath+"/envoy-config", "Accept", protobufType).want(t, 200).body
	same := w.send(t, http.MethodPut, initializersPath+"/envoy-config", string(body), "Content-Type", protobufType).want(t, 200).object(t)
	if at(same, "metadata", "resourceVersion") != at(made, "metadata", "resourceVersion") {
		t.Errorf("in protobuf it is another: %v", same)
	}
	for _, c := range []struct{ initializers, refusal string }{
		{`[{"name":"envoy"}]`, "initializers[0].name: Invalid value: \"envoy\": should be a domain with at least three segments separated by dots"},
		{`[{"name":"a.b.c","rules":[{}]}]`, "initializers[0].rules[0].apiGroups: Required value"},
		{`[{"name":"a.b.c","rules":[{"apiGroups":["*","x"],"apiVersions":["v1",""],"resources":["pods/status"]}]}]`, "if '*' is present, must not specify other API groups"},
		{`[{"name":"a.b.c","rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/status"]}]}]`, "must not specify subresources"},
		{`[{"name":"a.b.c","rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods","*"]}]}]`, "if '*' is present, must not specify other resources"},
	} {
		w.send(t, http.MethodPost, initializersPath, `{"metadata":{"name":"x"},"initializers":`+c.initializers+`}`).
			refused(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, c.refusal)
	}
	list := strings.Fields(w.names(t, initializersPath))
	if !slices.Equal(list, []string{"all", "envoy-config"}) {
		t.Errorf("there are %v", list)
	}
}
