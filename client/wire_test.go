package client_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/object"
)

func TestWireSourceListsStoredObjects(t *testing.T) {
	t.Parallel()
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("labelSelector"); got != "l=x" {
			t.Errorf("got labelSelector %q", got)
		}
		answer(w, 200, twoMaps)
	})
	list, err := client.NewSource(c).List(t.Context(), configmaps,
		client.Options{Labels: labels.SelectorFromSet(labels.Set{"l": "x"})})
	if err != nil {
		t.Fatal(err)
	}
	if list.Revision != 9 || len(list.Items) != 2 {
		t.Fatalf("got %d items at %d", len(list.Items), list.Revision)
	}
	a := list.Items[0]
	if a.Key != "/configmaps/ns/a" || a.UID != "u1" || a.Revision != 7 || a.Labels["l"] != "x" || a.Owners[0] != "o1" {
		t.Errorf("got header %+v at %d", a.Header, a.Revision)
	}
	const want = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b","namespace":"ns","uid":"u2","resourceVersion":"8"}}`
	encoding, err := list.Items[1].Encoding(list.Codec, object.Form{APIVersion: "v1", Format: object.JSON})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(encoding.Bytes()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if obj, err := a.Decoded(list.Codec); err != nil || obj.(*unstructured.Unstructured).GetName() != "a" {
		t.Errorf("got %v, %v", obj, err)
	}
}

func TestWireSourceWatchEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("resourceVersion") != "2" || q.Get("allowWatchBookmarks") != "true" {
				t.Errorf("got query %v", q)
			}
			answer(w, 200,
				`{"type":"DELETED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"3"}}}
{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"5"}}}
`)
			if r.URL.Query().Get("labelSelector") == "" {
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
		}))
		defer transport.Close()
		c, err := client.New(transport.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		watching, err := client.NewSource(c).Watch(t.Context(), configmaps, client.Options{After: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer watching.Stop()
		var got []client.Event
		for len(got) < 2 {
			events, err := watching.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, events...)
		}
		for i, want := range []client.Event{{Type: watch.Deleted, Revision: 3}, {Type: watch.Bookmark, Revision: 5}} {
			if got[i].Type != want.Type || got[i].Revision != want.Revision {
				t.Errorf("got %+v, want %+v", got[i], want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := watching.Next(ctx); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		ended, err := client.NewSource(c).Watch(t.Context(), configmaps,
			client.Options{After: 2, Labels: labels.SelectorFromSet(labels.Set{"l": "x"})})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = ended.Next(t.Context())
		}
		if err != io.EOF {
			t.Errorf("got %v after the server ended the watch", err)
		}
	})
}
