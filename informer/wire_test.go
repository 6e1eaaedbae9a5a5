package informer_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/object"
)

// overWire serves a plane over HTTP.
func overWire(p *plane) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "true" {
			list, _ := p.List(r.Context(), configmaps, client.Options{})
			meta := map[string]string{"resourceVersion": list.Revision.String()}
			out := map[string]any{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta}
			var items []json.RawMessage
			for _, o := range list.Items {
				e, _ := o.Encoding(p.codec, object.Form{APIVersion: "v1"})
				items = append(items, e.AppendItem(nil))
			}
			out["items"] = items
			json.NewEncoder(w).Encode(out)
			return
		}
		after, _ := object.ParseRevision(r.URL.Query().Get("resourceVersion"))
		watching, err := p.Watch(r.Context(), configmaps, client.Options{After: after})
		if err != nil { // the revision is compacted
			w.WriteHeader(http.StatusGone)
			json.NewEncoder(w).Encode(err.(apierrors.APIStatus).Status())
			return
		}
		w.(http.Flusher).Flush()
		for {
			events, err := watching.Next(r.Context())
			if err != nil {
				return
			}
			for _, event := range events {
				e, _ := event.Object.Encoding(event.Codec, object.Form{APIVersion: "v1"})
				w.Write(object.AppendFrame(nil, event.Type, object.JSON, e.Bytes()))
			}
		}
	}
}

func TestWireAndInProcessInformersAreEqual(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane()
		p.put("a", "1")
		transport := inprocess.NewTransport(overWire(p))
		c, err := client.New(transport.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var diaries []*deliveries
		for _, source := range []client.Source{p, client.NewSource(c)} {
			d := &deliveries{}
			diaries = append(diaries, d)
			f := informer.NewFactory(source,
				informer.FactoryOptions{Resync: time.Hour, Log: slog.New(slog.DiscardHandler)})
			informer.For[*corev1.ConfigMap](f, configmaps).AddHandler(d)
			informer.For[*unstructured.Unstructured](f,
				configmaps).AddHandler(informer.HandlerFuncs[*unstructured.Unstructured]{
				Add: func(obj *unstructured.Unstructured, _ bool) {
					d.write("untyped %s %s", obj.GetKind(), obj.GetName())
				},
			})
			running.Go(func() { f.Run(ctx) })
		}
		pause()
		p.put("b", "1")
		p.remove("a")
		time.Sleep(time.Hour)
		p.set(func(*plane) {})
		pause()
		for _, d := range diaries {
			lines := d.read()
			slices.Sort(lines)
			want := []string{
				"add a=1 initial=true", "add b=1 initial=false", "delete a=1 unknown=false", "sync b=1",
				"untyped ConfigMap a", "untyped ConfigMap b",
			}
			if !slices.Equal(lines, want) {
				t.Errorf("got notifications %q, want %q", lines, want)
			}
		}
		cancel()
		running.Wait()
		transport.Close()
	})
}

func TestUndecodableObjectRetainsLastState(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		p.put("a", "1")
		p.put("b", "1")
		d.read()
		p.corrupt("a")
		p.set(func(p *plane) { p.oldest, p.history = p.revision+1, nil })
		p.put("b", "2")
		pause()
		d.expect(t, "update b=1->2")
		if got := cached(i); got["a"] != "1" {
			t.Errorf("got %v in the cache", got)
		}
	})
}
