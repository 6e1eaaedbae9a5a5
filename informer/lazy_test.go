package informer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/object"
)

// counting is a codec that counts calls of Decode.
type counting struct {
	codec
	decoded *atomic.Int64
}

func (c counting) Decode(form object.Form, data []byte) (runtime.Object, error) {
	c.decoded.Add(1)
	return c.codec.Decode(form, data)
}

// countingPlane is a plane that counts the decodings of its objects.
func countingPlane() (*plane, *atomic.Int64) {
	p, decoded := newPlane(), &atomic.Int64{}
	p.reads = counting{p.codec, decoded}
	return p, decoded
}

// run runs an informer or a factory until the result is called.
func run(i interface{ Run(ctx context.Context) }) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { i.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

func lazily() options { o := quiet(); o.Lazy = true; return o }

func TestLazyInformerDecodesOnRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, decoded := countingPlane()
		i := informer.New(p, configmaps, lazily())
		i.Indexer().AddHeadIndex("label", informer.ByLabel("value"))
		i.Indexer().AddHeadIndex("owner", informer.ByOwner)
		defer run(i)()
		for n := range 100 {
			p.put(fmt.Sprint("map-", n), fmt.Sprint(n%10))
		}
		p.put("map-0", "7")
		p.remove("map-1")
		synctest.Wait()
		if n := i.Indexer().Len(); n != 99 || decoded.Load() != 0 {
			t.Fatalf("%d objects cached, and %d decoded without being read", n, decoded.Load())
		}
		selected := i.Lister().List("ns", labels.SelectorFromSet(labels.Set{"value": "7"}))
		if len(selected) != 11 || decoded.Load() != 11 {
			t.Errorf("%d objects have the label, %d were decoded to find them", len(selected), decoded.Load())
		}
		indexed, _ := i.Indexer().ByIndex("label", "7")
		if len(indexed) != 11 || decoded.Load() != 11 {
			t.Errorf("the index found %d objects, and %d have been decoded", len(indexed), decoded.Load())
		}
		for _, obj := range indexed {
			if !slices.Contains(selected, obj) {
				t.Errorf("%s was decoded twice in quick succession", obj.Name)
			}
		}
		if owned, _ := i.Indexer().ByIndex("owner", "owner of map-5"); names(owned) != "map-5" {
			t.Errorf("the owner has %q", names(owned))
		}
	})
}

func TestLazyAndEagerNotificationsAreEqual(t *testing.T) {
	t.Parallel()
	populated := func() *plane { p := newPlane(); p.put("a", "1"); return p }
	inBubble(t, populated, lazily, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		d.expect(t, "add a=1 initial=true")
		p.put("b", "1")
		p.put("a", "2")
		d.expect(t, "add b=1 initial=false", "update a=1->2")
		p.remove("b")
		d.expect(t, "delete b=1 unknown=false")
		if obj, err := i.Lister().Get("ns", "a"); err != nil || obj.Data["value"] != "2" {
			t.Errorf("got %v, %v from the lister", obj, err)
		}
	})
}

func TestLazyInformerEvictsOldDecodedObjects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, decoded := countingPlane()
		i := informer.New(p, configmaps, lazily())
		defer run(i)()
		large := strings.Repeat("x", 64<<10)
		for n := range 40 {
			p.put(fmt.Sprint(n), large)
		}
		synctest.Wait()
		for range i.Indexer().All() {
		}
		before := decoded.Load()
		for range i.Indexer().All() {
		}
		if decodedAgain := decoded.Load() - before; decodedAgain != 40 {
			t.Errorf("%d of 40 large objects were decoded again: the retained ones are not bounded", decodedAgain)
		}
	})
}

// Replaced states are not retained, even if all of them would fit.
func TestLazyInformerReleasesDeletedObjects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane()
		i := informer.New(p, configmaps, lazily())
		defer run(i)()
		const states = 500
		var read []weak.Pointer[corev1.ConfigMap]
		for n := range states {
			p.put("map", fmt.Sprint(n))
			synctest.Wait()
			obj, ok := i.Indexer().Get(informer.Key{Namespace: "ns", Name: "map"})
			if !ok {
				t.Fatal("the object is not cached")
			}
			read = append(read, weak.Make(obj))
		}
		goruntime.GC()
		retained := 0
		for _, w := range read {
			if w.Value() != nil {
				retained++
			}
		}
		if retained > states/3 || read[states-1].Value() == nil {
			t.Errorf("%d of %d states are retained", retained, states)
		}
	})
}

func TestLazyInformerSkipsUndecodableObject(t *testing.T) {
	t.Parallel()
	log, withLog := logBuffer()
	lazy := func() options { o := withLog(); o.Lazy = true; return o }
	inBubble(t, newPlane, lazy, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		p.put("a", "1")
		p.put("b", "1")
		d.read()
		p.corrupt("a")
		p.put("b", "2")
		d.expect(t, "update b=1->2")
		if got := cached(i); len(got) != 1 || got["b"] != "2" {
			t.Errorf("got %v in the cache", got)
		}
		if _, err := i.Lister().Get("ns", "a"); err == nil || !strings.Contains(err.Error(), "ns/a") {
			t.Errorf("got error %v from the lister", err)
		}
		if n := strings.Count(log.String(), "an object cannot be decoded"); n != 1 || i.Unreadable() != 1 {
			t.Errorf("reported %d times, counted %d:\n%s", n, i.Unreadable(), log)
		}
		p.remove("a")
		d.expect(t, "delete a=1 unknown=true") // the last state that it was told of
		p.put("a", "3")
		if got := d.read(); len(got) != 1 || cached(i)["a"] != "3" {
			t.Errorf("after the correction the handler got %q, and the cache has %v", got, cached(i))
		}
	})
}

func TestTransformReducesObjects(t *testing.T) {
	t.Parallel()
	for _, lazy := range []bool{false, true} {
		transforming := func() options {
			o := quiet()
			o.Lazy = lazy
			o.Transform = func(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) {
				switch obj.Data["value"] {
				case "refused":
					return nil, errors.New("not that")
				case "panic":
					panic("not that either")
				case "nothing":
					return nil, nil
				case "renamed":
					obj.Name = "other"
					return obj, nil
				}
				obj.Data = map[string]string{"value": "only " + obj.Data["value"]}
				return obj, nil
			}
			return o
		}
		inBubble(t, newPlane, transforming, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
			p.put("a", "1")
			p.put("b", "refused")
			p.put("c", "panic")
			p.put("d", "nothing")
			p.put("e", "renamed")
			d.expect(t, "add a=only 1 initial=false")
			if got := cached(i); len(got) != 1 || i.Unreadable() != 4 {
				t.Errorf("lazy %t: the cache has %v, %d objects could not be read", lazy, got, i.Unreadable())
			}
			original, err := p.objects[informer.Key{Namespace: "ns", Name: "a"}].Decoded(p.codec)
			if err != nil || original.(*corev1.ConfigMap).Data["value"] != "1" {
				t.Errorf("lazy %t: the server's object became %v, %v", lazy, original, err)
			}
		})
	}
}

// slim is a Go type with the metadata and only one field of the kind.
type slim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              struct {
		Value string `json:"value"`
	} `json:"data"`
}

func (s *slim) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func TestReducedTypeHoldsItsFields(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane()
		p.put("a", "1")
		i := informer.New(p, configmaps, informer.Options[*slim]{})
		defer run(i)()
		<-i.Synced()
		got, err := i.Lister().Get("ns", "a")
		if err != nil || got.Data.Value != "1" {
			t.Errorf("got %v, %v", got, err)
		}
		if data, _ := json.Marshal(got); !strings.Contains(string(data), `"kind":"ConfigMap"`) {
			t.Errorf("the JSON has no kind and apiVersion: %s", data)
		}
	})
}
