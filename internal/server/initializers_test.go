package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
)

const (
	initializersPath = "/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations"
	hidden           = "?includeUninitialized=true"
)

// configureInitializers declares the initializers of a resource's objects.
func configureInitializers(t testing.TB, w *testPlane, name, resource string, names ...string) {
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

// begin sends a request whose answer may be delayed.
func (w *testPlane) begin(t testing.TB, method, path, body string, headers ...string) <-chan response {
	answer := make(chan response, 1)
	go func() {
		r, err := w.try(context.WithoutCancel(t.Context()), method, path, strings.NewReader(body), headers...)
		if err != nil {
			r.body = []byte(err.Error())
		}
		answer <- r
	}()
	return answer
}

// pending returns the names of the initializers that an object waits for.
func pending(obj map[string]any) string {
	var names []string
	list, _ := valueAt(obj, "metadata", "initializers", "pending").([]any)
	for _, p := range list {
		names = append(names, p.(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

// merge sends a merge patch.
func (w *testPlane) merge(t testing.TB, path, patch string) response {
	t.Helper()
	return w.send(t, http.MethodPatch, path, patch, "Content-Type", mergeType)
}

// Lists and watches see an object as added when its last initializer has finished, and its creator is
// answered then. Requests for uninitialized objects see it at once. Its name exists from the start.
func TestUninitializedObjectIsHidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		configureInitializers(t, w, "b", "configmaps", "third.example.com", "first.example.com")
		configureInitializers(t, w, "a", "configmaps", "first.example.com", "second.example.com")
		configureInitializers(t, w, "c", "secrets", "other.example.com")
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
			t.Errorf("the pending initializers are %q", got)
		}
		if got := pending(all.want(t, "ADDED a").Object); got != all3 {
			t.Errorf("the watch shows the pending initializers %q", got)
		}
		w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusConflict,
			metav1.StatusReasonAlreadyExists, "")
		w.merge(t, configMaps+"/a",
			`{"data":{"k":"1"},"metadata":{"initializers":{"pending":[{"name":"second.example.com"},{"name":"third.example.com"}]}}}`).want(t, 200)
		w.merge(t, configMaps+"/a",
			`{"metadata":{"labels":{"done":"1"},"initializers":{"pending":[{"name":"third.example.com"}]}}}`).want(t,
			200)
		if got := pending(all.want(t, "MODIFIED a", "MODIFIED a").Object); got != "third.example.com" {
			t.Errorf("the watch shows the pending initializers %q", got)
		}
		synctest.Wait()
		select {
		case r := <-answer:
			t.Fatalf("the create returned before initialization: %s", r.body)
		default:
		}
		w.merge(t, configMaps+"/a", `{"metadata":{"initializers":{"pending":[]}}}`).want(t, 200)
		obj := (<-answer).want(t, http.StatusCreated).object(t)
		if valueAt(obj, "data", "k") != "1" || valueAt(obj, "metadata", "initializers") != nil {
			t.Errorf("the create returned %v", obj)
		}
		all.want(t, "MODIFIED a")
		for _, watch := range []*streaming{seen, labelled} {
			if e := watch.want(t, "ADDED a"); valueAt(e.Object, "data", "k") != "1" ||
				valueAt(e.Object, "metadata", "initializers") != nil {
				t.Errorf("the watch shows %v", e.Object)
			}
		}
		w.merge(t, configMaps+"/a", `{"data":{"k":"2"}}`).want(t, 200)
		seen.want(t, "MODIFIED a")
		w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, 200)
		seen.want(t, "DELETED a")
	})
}

// The remaining items of a page do not include hidden objects.
func TestPageExcludesUninitializedObjects(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a", "c", "e", "g")
	configureInitializers(t, w, "a", "configmaps", "first.example.com")
	for _, name := range []string{"b", "d", "f", "h"} {
		w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"`+name+`"}}`).want(t, http.StatusCreated)
	}
	for query, want := range map[string]string{"?": "[a c] 2 [e g] <nil>", hidden + "&": "[a b] 6 [c d] 4"} {
		first := w.get(t, configMaps+query+"limit=2").object(t)
		next := valueAt(first, "metadata", "continue").(string)
		second := w.get(t, configMaps+query+"limit=2&continue="+next).object(t)
		left := func(list map[string]any) any { return valueAt(list, "metadata", "remainingItemCount") }
		if got := fmt.Sprint(namesIn(first), " ", left(first), " ", namesIn(second), " ", left(second)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// namesIn returns the names in a list.
func namesIn(list map[string]any) (names []string) {
	for _, item := range list["items"].([]any) {
		names = append(names, valueAt(item.(map[string]any), "metadata", "name").(string))
	}
	return names
}

// In-process informers do not see uninitialized objects, unless they ask for them.
func TestSourceHidesUninitializedObjects(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "configmaps", "first.example.com")
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	now := must(w.Source().List(t.Context(), resource, client.Options{}))(t).Revision
	watch := must(w.Source().Watch(t.Context(), resource, client.Options{After: now}))(t)
	defer watch.Stop()
	w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	for uninitialized, want := range map[bool]int{false: 0, true: 1} {
		list := must(w.Source().List(t.Context(), resource, client.Options{Uninitialized: uninitialized}))(t)
		if len(list.Items) != want {
			t.Errorf("Uninitialized %v: %d items", uninitialized, len(list.Items))
		}
	}
	wire := client.NewSource(must(client.New(w.config))(t))
	if list := must(wire.List(t.Context(), resource, client.Options{Uninitialized: true}))(t); len(list.Items) != 1 {
		t.Errorf("over the wire: %d items", len(list.Items))
	}
	w.merge(t, configMaps+"/a", `{"metadata":{"initializers":null}}`).want(t, 200)
	events := must(watch.Next(t.Context()))(t)
	if len(events) != 1 || events[0].Type != "ADDED" {
		t.Errorf("got %v", events)
	}
}

// A create waits for 30 s, or until the client's timeout, and its error names the pending initializers; the
// object stays. With includeUninitialized it does not wait.
func TestCreateWaitsForInitializers(t *testing.T) {
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
				configureInitializers(t, w, "a", "configmaps", "first.example.com", "second.example.com")
				startTime, path := time.Now(), configMaps
				if c.method == http.MethodPatch {
					path += "/a"
				}
				r := w.send(t, c.method, path+c.query, fmt.Sprintf(document, "a"), "Content-Type", c.contentType)
				if waited := time.Since(startTime); waited != c.waits {
					t.Errorf("waited %v, not %v", waited, c.waits)
				}
				if c.waits == 0 {
					if got := pending(r.want(t,
						http.StatusCreated).object(t)); got != "first.example.com second.example.com" {
						t.Errorf("the pending initializers are %q", got)
					}
					return
				}
				r.wantError(t, http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
					"server has timed out waiting for the initialization of configmaps a: it was created; its pending initializers are first.example.com, second.example.com")
				if got := pending(w.get(t, configMaps+"/a").object(t)); got != "first.example.com second.example.com" {
					t.Errorf("the pending initializers are %q", got)
				}
			})
		})
	}
}

// Creates that wait hold no seats: initializers make progress even if there are more such creates than seats.
func TestWaitingCreatesHoldNoSeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		configureInitializers(t, w, "a", "configmaps", "first.example.com")
		var answers []<-chan response
		for i := range 1000 {
			answers = append(answers,
				w.begin(t, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":"a-%d"}}`, i)))
		}
		synctest.Wait()
		for i, answer := range answers {
			w.merge(t, fmt.Sprintf("%s/a-%d", configMaps, i), `{"metadata":{"initializers":null}}`).want(t, 200)
			(<-answer).want(t, http.StatusCreated)
		}
	})
}

// A create stops waiting when its object is deleted.
func TestDeleteEndsWaitingCreate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		configureInitializers(t, w, "a", "configmaps", "first.example.com")
		for _, path := range []string{configMaps + "/a", configMaps} { // a collection has it too
			answer := w.begin(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
			synctest.Wait()
			w.send(t, http.MethodDelete, path, "").want(t, 200)
			(<-answer).wantError(t, http.StatusInternalServerError, metav1.StatusReasonInternalError,
				"object deleted while waiting for creation")
		}
	})
}

// Waiting creates end when the server closes.
func TestCloseEndsWaitingCreates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		configureInitializers(t, w, "a", "configmaps", "first.example.com")
		answer := w.begin(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
		synctest.Wait()
		startTime := time.Now()
		if err := w.Close(); err != nil || time.Since(startTime) > 0 {
			t.Errorf("closing took %v, %v", time.Since(startTime), err)
		}
		(<-answer).wantError(t, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
			"the server is stopping")
	})
}

// client-go's create returns the object as the initializers left it.
func TestClientGoCreateWaitsForInitializers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		configureInitializers(t, w, "a", "configmaps", "first.example.com")
		all := w.open(t, configMaps+hidden+"&watch=1")
		done := make(chan struct{})
		go func() {
			defer close(done)
			all.want(t, "ADDED a")
			w.merge(t, configMaps+"/a", `{"metadata":{"initializers":null},"data":{"k":"1"}}`).want(t, 200)
		}()
		made := must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"),
			metav1.CreateOptions{}))(t)
		if <-done; made.Data["k"] != "1" {
			t.Errorf("created %v", made)
		}
		_, err := w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("b"), metav1.CreateOptions{})
		if !apierrors.IsTimeout(err) {
			t.Errorf("create without an initializer: %v, want a timeout", err)
		}
	})
}
