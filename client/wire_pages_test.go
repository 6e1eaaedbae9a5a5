package client_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/wire"
)

// paged serves two pages of one config map each. The handler of the second one is given.
func paged(second http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("limit") == "":
			answer(w, 200, twoMaps)
		case q.Get("continue") == "":
			answer(w, 200,
				`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"more"},
				"items":[{"metadata":{"name":"old","resourceVersion":"5"}}]}`)
		default:
			second(w, r)
		}
	}
}

func TestListReadsAllPages(t *testing.T) {
	t.Parallel()
	c := connect(t, paged(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200,
			`{"apiVersion":"v1","items":[{"metadata":{"name":"z","resourceVersion":"3"}}],"kind":"ConfigMapList","metadata":{"resourceVersion":"5"}}`)
	}))
	list, err := client.NewSource(c).List(t.Context(), configmaps, client.Options{})
	if err != nil || list.Revision != 5 || len(list.Items) != 2 || list.Items[1].Key.Name() != "z" {
		t.Fatalf("got list %+v, %v", list, err)
	}
	z, err := wire.ReadObject[*corev1.ConfigMap](list.Items[1])
	if err != nil || z.Kind != "ConfigMap" {
		t.Errorf("got kind %q, %v in the second page", z.Kind, err)
	}
}

func TestExpiredPagedListIsReadUnpaged(t *testing.T) {
	t.Parallel()
	c := connect(t, paged(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 410, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
	}))
	list, err := client.NewSource(c).List(t.Context(), configmaps, client.Options{})
	if err != nil || list.Revision != 9 || len(list.Items) != 2 || list.Items[0].Key.Name() != "a" {
		t.Fatalf("got list %+v, %v", list, err)
	}
}

func TestListIsPagedWithoutStreaming(t *testing.T) {
	t.Parallel()
	const invalid = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,
		"message":"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`
	for name, streamed := range map[string]http.HandlerFunc{
		"it says so": func(w http.ResponseWriter, _ *http.Request) { answer(w, 422, invalid) },
		"it takes it for a bad one": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, 400, `{"kind":"Status","reason":"BadRequest","code":400}`)
		},
		"it takes it for a watch": func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"it begins a list and hangs": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, addedMap)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"it takes it for a watch, and an object changes all the time": changing(addedMap,
			strings.Replace(addedMap, "ADDED", "MODIFIED", 1)),
		"it takes it for a watch, and an object is made all the time": changing(addedMap,
			strings.Replace(addedMap, "ADDED", "DELETED", 1), addedMap),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tried := 0
				transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Get("sendInitialEvents") == "true" {
						tried++
						streamed(w, r)
						return
					}
					answer(w, 200, twoMaps)
				}))
				defer transport.Close()
				c, err := client.New(transport.RESTConfig())
				if err != nil {
					t.Fatal(err)
				}
				source := client.NewStreamingSource(c)
				for range 2 {
					list, err := source.List(t.Context(), configmaps, client.Options{})
					if err != nil || len(list.Items) != 2 || list.Following != nil {
						t.Errorf("got list %+v, %v", list, err)
					}
				}
				if tried != 1 {
					t.Errorf("got %d streaming requests", tried)
				}
			})
		})
	}
}
