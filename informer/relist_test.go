package informer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/object"
)

// headless is a source whose lists have an object whose metadata cannot be decoded.
type headless struct {
	*plane
	name string
}

func (h *headless) List(ctx context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.List, error) {
	list, err := h.plane.List(ctx, resource, options)
	list.Items = slices.DeleteFunc(list.Items, func(o *object.Object) bool { return o.Key.Name() == h.name })
	if h.name != "" {
		list.Unreadable = []error{errors.New("an item cannot be read")}
	}
	return list, err
}

// forget ends all watches and drops the history, so that informers list again.
func (p *plane) forget() {
	p.compact()
	p.set(func(p *plane) { p.oldest++; p.revision++ })
	pause()
}

func TestUndecodableListItemIsNotDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &headless{plane: newPlane()}
		h.put("a", "1")
		h.put("b", "1")
		i := informer.New(h, configmaps, quiet())
		defer run(i)()
		<-i.Synced()
		d := &deliveries{}
		i.AddHandler(d)
		d.read()
		h.set(func(*plane) { h.name = "a" })
		h.put("b", "2")
		h.forget()
		d.expect(t, "update b=1->2")
		h.remove("a")
		d.expect(t, "delete a=1 unknown=false")
		h.set(func(p *plane) { h.name = ""; delete(p.objects, informer.Key{Namespace: "ns", Name: "b"}) })
		h.forget()
		d.expect(t, "delete b=2 unknown=true")
		if n := i.Unreadable(); n != 1 {
			t.Errorf("Unreadable returned %d", n)
		}
	})
}

// answering runs an informer on a server with the given HTTP handler until ctx ends.
func answering(t *testing.T, ctx context.Context, handler http.HandlerFunc) {
	t.Helper()
	transport := inprocess.NewTransport(handler)
	defer transport.Close()
	c, err := client.New(transport.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	informer.New(client.NewSource(c), configmaps, quiet()).Run(ctx)
}

func TestWatchErrorCausesList(t *testing.T) {
	t.Parallel()
	for status, maxLists := range map[int]int{http.StatusInternalServerError: 120, http.StatusServiceUnavailable: 1} {
		synctest.Test(t, func(t *testing.T) {
			lists, watches := 0, 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			answering(t, ctx, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Get("watch") == "" {
					lists++
					fmt.Fprint(w,
						`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`)
					return
				}
				watches++
				w.WriteHeader(status)
				fmt.Fprintf(w,
					`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"event 6 cannot be told of","code":%d}`, status)
			})
			if lists < maxLists/2 || lists > maxLists || watches < 5*lists {
				t.Errorf("status %d: got %d lists and %d watches in an hour", status, lists, watches)
			}
		})
	}
}

func TestBookmarkIsNotADefinition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		answering(t, ctx, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case !strings.Contains(r.URL.Path, "customresourcedefinitions"):
				if requests++; requests > 100 {
					cancel()
				}
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			case r.URL.Query().Get("watch") != "":
				fmt.Fprintln(w,
					`{"type":"BOOKMARK","object":{"kind":"X","apiVersion":"v1","metadata":{"resourceVersion":"6"}}}`)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			default:
				fmt.Fprint(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`)
			}
		})
		if requests > 10 {
			t.Errorf("got %d requests", requests)
		}
	})
}
