package informer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

// answersOf returns the recorded answers of a real kube-apiserver to the GETs of a file whose path contains one of the
// texts, in the order of the texts.
func answersOf(t *testing.T, file string, texts ...string) []golden.Response {
	t.Helper()
	var answers []golden.Response
	for _, text := range texts {
		steps := slices.DeleteFunc(golden.Steps(t, file), func(s golden.Step) bool {
			return s.Method != http.MethodGet || !strings.HasSuffix(s.Path, text) ||
				s.Headers["Accept"] != "application/json"
		})
		if len(steps) == 0 {
			t.Fatalf("%s has no GET of ...%s", file, text)
		}
		for _, s := range steps {
			answers = append(answers, s.Response)
		}
	}
	return answers
}

// replaying answers lists with the recorded answers in order, and then one watch with its events, one per second.
type replaying struct {
	t         *testing.T
	lists     []golden.Response
	watch     golden.Response
	queries   []string
	absent    string // paths with this text, if it is not empty, get the response notServed
	notServed golden.Response
}

func (r *replaying) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	watching := q.URL.Query().Get("watch") != ""
	next := &r.watch
	switch {
	case r.absent != "" && strings.Contains(q.URL.Path, r.absent):
		next = &r.notServed
	case !watching && len(r.lists) > 0:
		next, r.lists = &r.lists[0], r.lists[1:]
	}
	r.queries = append(r.queries, q.URL.RawQuery)
	for name, value := range next.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(next.Status)
	if watching {
		r.stream(w, q)
		return
	}
	var text string
	if json.Unmarshal(next.Body, &text) == nil { // no JSON, as it was recorded
		fmt.Fprint(w, text)
		return
	}
	w.Write(next.Body)
}

// stream sends the events of the watch, once, and then nothing until the client ends the request.
func (r *replaying) stream(w http.ResponseWriter, q *http.Request) {
	var events []json.RawMessage
	if len(r.watch.Body) > 0 {
		if err := json.Unmarshal(r.watch.Body, &events); err != nil {
			r.t.Error(err)
		}
		r.watch.Body = nil
	}
	for _, event := range events {
		fmt.Fprintf(w, "%s\n", event)
		w.(http.Flusher).Flush()
		time.Sleep(time.Second)
	}
	w.(http.Flusher).Flush()
	<-q.Context().Done()
}

// revisionDeliveries records the notifications of a handler, by name and revision.
type revisionDeliveries[T client.Object] struct{ lines []string }

func (d *revisionDeliveries[T]) OnAdd(obj T, initial bool) {
	d.lines = append(d.lines, fmt.Sprint("add ", obj.GetName(), " ", obj.GetResourceVersion(), " ", initial))
}

func (d *revisionDeliveries[T]) OnUpdate(old, new T) {
	d.lines = append(d.lines, fmt.Sprint("update ", new.GetName(), " ", old.GetResourceVersion(), " ",
		new.GetResourceVersion()))
}

func (d *revisionDeliveries[T]) OnDelete(obj T, unknown bool) {
	d.lines = append(d.lines, fmt.Sprint("delete ", obj.GetName(), " ", obj.GetResourceVersion(), " ", unknown))
}

// replay runs an informer on recorded answers for a minute.
func replay[T client.Object](t *testing.T, r *replaying, resource schema.GroupVersionResource,
	source func(*client.Client) client.Source, want ...string) *informer.Informer[T] {
	t.Helper()
	transport := inprocess.NewTransport(r)
	defer transport.Close()
	c, err := client.New(transport.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	i := informer.New(source(c), resource, informer.Options[T]{Namespace: "default", Log: quiet().Log})
	d := &revisionDeliveries[T]{}
	i.AddHandler(d)
	stop := run(i)
	time.Sleep(time.Minute)
	synctest.Wait()
	stop()
	if !slices.Equal(d.lines, want) {
		t.Errorf("got notifications %q, want %q; the requests were %q", d.lines, want, r.queries)
	}
	return i
}

// The informer reads the recorded bytes of a real kube-apiserver.
func TestRecordedListAndWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		watch := answersOf(t, "watch.json",
			"configmaps?watch=true&labelSelector=w&resourceVersion={{rv}}&timeoutSeconds=1")[0]
		r := &replaying{t: t, lists: answersOf(t, "watch.json", "configmaps?labelSelector=w"), watch: watch}
		i := replay[*corev1.ConfigMap](t, r, configmaps, client.NewSource,
			"add w1 242 false", "update w1 242 243", "delete w1 244 false", "add w1 245 false", "delete w1 246 false")
		if i.Indexer().Len() != 0 || !strings.Contains(r.queries[1], "resourceVersion=241") {
			t.Errorf("got %d cached objects; the requests were %q", i.Indexer().Len(), r.queries)
		}
	})
}

func TestRecordedPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pages := answersOf(t, "list-and-select.json", "limit=3&labelSelector=even",
			"limit=3&labelSelector=even&continue={{c}}")
		var last unstructured.UnstructuredList // whose token is taken off, as of the page that would follow
		if err := json.Unmarshal(pages[1].Body, &last); err != nil {
			t.Fatal(err)
		}
		last.SetContinue("")
		body, err := json.Marshal(&last)
		if err != nil {
			t.Fatal(err)
		}
		pages[1].Body = body
		r := &replaying{t: t, lists: pages[:2], watch: golden.Response{Status: http.StatusOK}}
		i := replay[*unstructured.Unstructured](t, r, configmaps, client.NewSource,
			"add l0 228 true", "add l1 229 true", "add l2 230 true", "add l3 231 true", "add l4 232 true",
			"add l5 233 true")
		if i.Indexer().Len() != 6 || !strings.Contains(r.queries[1], "continue=") ||
			!strings.Contains(r.queries[2], "resourceVersion=234") {
			t.Errorf("got %d cached objects; the requests were %q", i.Indexer().Len(), r.queries)
		}
	})
}

func TestRecordedStreamedList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &replaying{t: t, watch: answersOf(t, "watch.json",
			"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")[0]}
		i := replay[*corev1.ConfigMap](t, r, configmaps, client.NewStreamingSource, "add w2 247 true")
		select {
		case <-i.Synced():
		default:
			t.Error("the informer is not synced")
		}
	})
}

// A real server answers with a 404 in plain text while it does not serve a resource, and with 429 while it starts to.
func TestRecordedLateDefinition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		networks := schema.GroupVersionResource{Group: "samplecrd.example.com", Version: "v1", Resource: "networks"}
		answers := map[int]golden.Response{}
		const path = "/apis/samplecrd.example.com/v1/namespaces/default/networks"
		for _, a := range answersOf(t, "crd.json", path, path+"?fieldSelector=spec.cidr%3D192.168.0.0/16") {
			answers[a.Status] = a
		}
		absent, served := answers[http.StatusNotFound], answers[http.StatusOK]
		r := &replaying{t: t, lists: []golden.Response{absent, absent, answers[http.StatusTooManyRequests], served},
			watch: golden.Response{Status: http.StatusOK}}
		r.absent, r.notServed = "/customresourcedefinitions", absent
		replay[*unstructured.Unstructured](t, r, networks, client.NewSource, "add example-network 297 true")
		if len(r.lists) > 0 {
			t.Errorf("%d recorded responses are left; the requests were %q", len(r.lists), r.queries)
		}
	})
}
