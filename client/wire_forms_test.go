package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// wantRequests lists the options for lists of the same objects, and the forms in which they arrive.
var wantRequests = map[string]struct {
	client.Options
	comes object.Form
}{
	"JSON":     {client.Options{}, object.Form{APIVersion: "v1", Format: object.JSON}},
	"protobuf": {client.Options{Protobuf: true}, object.Form{APIVersion: "v1", Format: object.Protobuf}},
	"metadata as JSON": {client.Options{MetadataOnly: true},
		object.Form{APIVersion: "meta.k8s.io/v1", Format: object.JSON}},
	"metadata as protobuf": {client.Options{MetadataOnly: true, Protobuf: true},
		object.Form{APIVersion: "meta.k8s.io/v1", Format: object.Protobuf}},
}

func TestWireSourceFormsAreEqual(t *testing.T) {
	t.Parallel()
	for name, form := range wantRequests {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streaming %t", name, streaming), func(t *testing.T) {
				t.Parallel()
				listsAndWatches(t, form.Options, form.comes, streaming)
			})
		}
	}
}

// listsAndWatches lists and watches three config maps, of which one is changed and one deleted after the list.
func listsAndWatches(t *testing.T, options client.Options, comes object.Form, streaming bool) {
	plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	maps := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().ConfigMaps("default")
	made := map[string]*corev1.ConfigMap{}
	for _, name := range []string{"a", "b", "c"} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"l": name}},
			Data: map[string]string{"k": name}}
		if made[name], err = maps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	source := client.NewSource(c)
	if streaming {
		source = client.NewStreamingSource(c)
	}
	options.Namespace = "default"
	list, err := source.List(t.Context(), configmaps, options)
	if err != nil || len(list.Items) != 3 || len(list.Unreadable) > 0 {
		t.Fatalf("got list %v, %v", list, err)
	}
	for _, o := range list.Items {
		isTheSame(t, o, made[o.Key.Name()], comes)
	}
	watching := list.Following
	if options.After = list.Revision; watching == nil {
		if watching, err = source.Watch(t.Context(), configmaps, options); err != nil {
			t.Fatal(err)
		}
	}
	defer watching.Stop()
	if (list.Following != nil) != streaming {
		t.Errorf("with streaming: %t; got Following %v", streaming, list.Following)
	}
	made["a"].Data["k"] = "new"
	changed, err := maps.Update(t.Context(), made["a"], metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	events := receive(t, watching, 2)
	if events[0].Type != watch.Modified || events[1].Type != watch.Deleted || events[1].Object.Key.Name() != "b" {
		t.Fatalf("got events %+v", events)
	}
	isTheSame(t, events[0].Object, changed, comes)
}

// receive waits for a number of events.
func receive(t *testing.T, w client.Watch, n int) []client.Event {
	t.Helper()
	var events []client.Event
	for len(events) < n {
		more, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, more...)
	}
	return events
}

// isTheSame compares an object of a source with the one that client-go reads.
func isTheSame(t *testing.T, o *object.Object, want *corev1.ConfigMap, comes object.Form) {
	t.Helper()
	if o.Form() != comes {
		t.Errorf("%s: got form %v, want %v", o.Key, o.Form(), comes)
	}
	if o.UID != want.UID || o.Revision.String() != want.ResourceVersion || o.Labels["l"] != want.Name {
		t.Errorf("got header %+v at %d, want %v", o.Header, o.Revision, want)
	}
	want = want.DeepCopy()
	want.Kind, want.APIVersion = "ConfigMap", comes.APIVersion
	if comes.APIVersion != "v1" {
		want.Data = nil
	}
	got, err := wire.ReadObject[*corev1.ConfigMap](o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind == "PartialObjectMetadata" {
		got.Kind = "ConfigMap"
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// changing sends events for an hour, one a second, the last again and again with other names.
func changing(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := range 3600 {
			event := events[min(i, len(events)-1)]
			if i >= len(events) {
				event = strings.Replace(event, `"name":"a"`, fmt.Sprintf(`"name":"a%d"`, i), 1)
			}
			fmt.Fprintln(w, event)
			w.(http.Flusher).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

const (
	addedMap = `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"3"}}}`
	nameless = `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"4"}}}`
)

// watchOf starts a watch of a server that sends a body and ends the response.
func watchOf(t *testing.T, body string) client.Watch {
	t.Helper()
	c := connect(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, body) })
	w, err := client.NewSource(c).Watch(t.Context(), configmaps, client.Options{After: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

func TestUndecodableEventDoesNotStopWatch(t *testing.T) {
	t.Parallel()
	events := receive(t, watchOf(t, addedMap+nameless+addedMap), 3)
	if events[1].Type != watch.Error || events[1].Err == nil || events[2].Object.Key.Name() != "a" {
		t.Errorf("got events %+v", events)
	}
}

func TestInterruptedWatchReportsError(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]error{
		addedMap + "\n":           io.EOF,
		addedMap + addedMap[:40]:  io.ErrUnexpectedEOF,
		addedMap + "}":            client.ErrUnreadable,
		addedMap + "<html></ht>,": client.ErrUnreadable,
	} {
		w := watchOf(t, body)
		receive(t, w, 1)
		if _, err := w.Next(t.Context()); !errors.Is(err, want) {
			t.Errorf("after %q: got %v, want %v", body, err, want)
		}
	}
}

func TestSilentServerTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") != "true" {
				fmt.Fprint(w, twoMaps[:40])
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		defer transport.Close()
		c, err := client.New(transport.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := client.NewSource(c).List(t.Context(), configmaps, client.Options{}); err == nil ||
			time.Since(start) != 3*time.Minute {
			t.Errorf("got %v after %v for a list that stalls", err, time.Since(start))
		}
		w, err := client.NewSource(c).Watch(t.Context(), configmaps, client.Options{After: 2})
		if err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		if _, err := w.Next(t.Context()); err == nil || err == io.EOF || time.Since(start) != 3*time.Minute {
			t.Errorf("got %v after %v for a silent watch", err, time.Since(start))
		}
		w.Stop()
	})
}

func TestBusyServerReturnsRetryAfter(t *testing.T) {
	t.Parallel()
	requests := 0
	c := connect(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Retry-After", "7")
		http.Error(w, "busy", http.StatusTooManyRequests)
	})
	_, err := client.NewSource(c).List(t.Context(), configmaps, client.Options{})
	if seconds, suggested := apierrors.SuggestsClientDelay(err); !suggested || seconds != 7 || requests != 1 {
		t.Errorf("got %v after %d requests, wait %d s", err, requests, seconds)
	}
}
