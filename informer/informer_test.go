package informer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/object"
)

type options = informer.Options[*corev1.ConfigMap]

// diary writes down what a handler is told.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(format string, arguments ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, arguments...))
}

func (d *diary) OnAdd(obj *corev1.ConfigMap, initial bool) {
	d.write("add %s=%s initial=%t", obj.Name, obj.Data["value"], initial)
}

func (d *diary) OnUpdate(old, new *corev1.ConfigMap) {
	if old == new {
		d.write("sync %s=%s", new.Name, new.Data["value"])
		return
	}
	d.write("update %s=%s->%s", new.Name, old.Data["value"], new.Data["value"])
}

func (d *diary) OnDelete(obj *corev1.ConfigMap, unknown bool) {
	d.write("delete %s=%s unknown=%t", obj.Name, obj.Data["value"], unknown)
}

// read takes what was written since the last time, once everything has settled.
func (d *diary) read() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// expect compares what was written since the last time.
func (d *diary) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := d.read(); !slices.Equal(got, want) {
		t.Errorf("the handler was told %q, want %q", got, want)
	}
}

// inBubble runs an informer of a plane with a diary, in virtual time, and stops it when f returns.
func inBubble(t *testing.T, p func() *plane, o func() options, f func(*plane, *informer.Informer[*corev1.ConfigMap], *diary)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plane := p()
		i := informer.New(plane, configmaps, o())
		d := &diary{}
		i.AddHandler(d)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.Run(ctx) })
		synctest.Wait()
		f(plane, i, d)
		cancel()
		running.Wait()
	})
}

func quiet() options { return options{Log: slog.New(slog.DiscardHandler)} }

// cached is what an informer's cache holds.
func cached(i *informer.Informer[*corev1.ConfigMap]) map[string]string {
	values := map[string]string{}
	for _, obj := range i.Indexer().List() {
		values[obj.Name] = obj.Data["value"]
	}
	return values
}

func TestHandlerIsToldOfWhatWasThereAndWhatHappens(t *testing.T) {
	t.Parallel()
	there := func() *plane { p := newPlane(); p.put("a", "1"); return p }
	inBubble(t, there, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		<-i.Synced()
		d.expect(t, "add a=1 initial=true")
		p.put("b", "1")
		d.expect(t, "add b=1 initial=false")
		p.put("a", "2")
		d.expect(t, "update a=1->2")
		p.remove("b")
		d.expect(t, "delete b=1 unknown=false")
	})
}

func TestHandlersShareOneWatchAndOneCache(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], first *diary) {
		p.put("a", "1")
		synctest.Wait()
		late := &diary{}
		<-i.AddHandler(late).Synced()
		late.expect(t, "add a=1 initial=true")
		p.put("a", "2")
		late.expect(t, "update a=1->2")
		first.expect(t, "add a=1 initial=false", "update a=1->2")
		if lists, watches := p.requests(); lists != 1 || watches != 1 {
			t.Errorf("two handlers took %d lists and %d watches", lists, watches)
		}
	})
}

func TestSlowHandlerDelaysNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		told := 0
		i.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{Add: func(*corev1.ConfigMap, bool) {
			time.Sleep(time.Hour)
			told++
		}})
		start := time.Now()
		for n := range 10 {
			p.put(fmt.Sprint(n), "1")
		}
		if lines := d.read(); len(lines) != 10 || time.Since(start) != 0 {
			t.Errorf("the other handler was told %d things after %v", len(lines), time.Since(start))
		}
		time.Sleep(11 * time.Hour)
		synctest.Wait()
		if told != 10 {
			t.Errorf("the slow handler was told %d things", told)
		}
	})
}

func TestResyncTellsOfEveryObjectWithoutClaimingAChange(t *testing.T) {
	t.Parallel()
	resyncing := func() options { o := quiet(); o.Resync = 10 * time.Minute; return o }
	there := func() *plane { p := newPlane(); p.put("a", "1"); p.put("b", "1"); return p }
	inBubble(t, there, resyncing, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		d.read()
		time.Sleep(10 * time.Minute)
		d.expect(t, "sync a=1", "sync b=1")
		p.put("a", "2")
		d.expect(t, "update a=1->2")
		time.Sleep(48*time.Hour - 10*time.Minute)
		if lines := d.read(); len(lines) != 2*287 {
			t.Errorf("%d syncs in the rest of two days, want %d", len(lines), 2*287)
		}
	})
}

func TestSurvivesExpiredRevision(t *testing.T) {
	t.Parallel()
	there := func() *plane { p := newPlane(); p.put("a", "1"); p.put("b", "1"); return p }
	inBubble(t, there, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		d.read()
		p.set(func(p *plane) { p.down = true })
		p.put("a", "2")
		p.remove("b")
		p.put("c", "1")
		p.compact()
		p.set(func(p *plane) { p.down = false })
		pause()
		lines := d.read()
		slices.Sort(lines)
		if want := []string{"add c=1 initial=false", "delete b=1 unknown=true", "update a=1->2"}; !slices.Equal(lines, want) {
			t.Errorf("after the relist the handler was told %q, want %q", lines, want)
		}
	})
}

func TestResumesWhereABrokenWatchEnded(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		p.put("a", "1")
		d.expect(t, "add a=1 initial=false")
		p.set(func(p *plane) { p.down = true })
		p.put("a", "2")
		time.Sleep(time.Hour)
		d.expect(t)
		p.set(func(p *plane) { p.down = false })
		pause()
		d.expect(t, "update a=1->2")
		if lists, _ := p.requests(); lists != 1 {
			t.Errorf("%d lists; a broken connection is no reason to list again", lists)
		}
	})
}

// A server that comes back empty and with other revisions is another server: what it does not have is gone.
func TestSurvivesRestartOfAServerThatForgets(t *testing.T) {
	t.Parallel()
	there := func() *plane { p := newPlane(); p.put("a", "old"); p.put("gone", "1"); return p }
	inBubble(t, there, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		d.read()
		p.set(func(p *plane) { clear(p.objects); p.history, p.oldest, p.revision = nil, 5000, 5000 })
		p.put("a", "new")
		pause()
		lines := d.read()
		slices.Sort(lines)
		if want := []string{"add a=new initial=false", "delete a=old unknown=true", "delete gone=1 unknown=true"}; !slices.Equal(lines, want) {
			t.Errorf("the handler was told %q, want %q", lines, want)
		}
	})
}

func TestSurvivesAServerThatWasRestoredToAnOlderState(t *testing.T) {
	t.Parallel()
	there := func() *plane { p := newPlane(); p.put("a", "old"); return p }
	inBubble(t, there, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		backup, at := p.objects[informer.Key{Namespace: "ns", Name: "a"}], p.revision
		p.put("a", "new")
		p.put("b", "new")
		d.read()
		p.set(func(p *plane) {
			clear(p.objects)
			p.objects[informer.Key{Namespace: "ns", Name: "a"}] = backup
			p.history, p.oldest, p.revision = nil, 0, at
		})
		pause()
		d.expect(t, "update a=new->old", "delete b=new unknown=true")
		p.put("a", "next")
		d.expect(t, "update a=old->next")
	})
}

// logged has an informer log to a text.
func logged(log *strings.Builder) func() options {
	return func() options { return options{Log: slog.New(slog.NewTextHandler(log, nil))} }
}

func TestWaitsForAResourceThatIsNotServedYetAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	inBubble(t, func() *plane { p := newPlane(); p.missing = true; return p }, logged(&log), func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		time.Sleep(24 * time.Hour)
		select {
		case <-i.Synced():
			t.Error("synced without a list")
		default:
		}
		p.set(func(p *plane) { p.missing = false })
		p.put("a", "1")
		pause()
		d.expect(t, "add a=1 initial=true")
		if n := strings.Count(log.String(), "level=INFO msg=\"nothing serves this resource yet"); n != 1 {
			t.Errorf("said %d times that it waits:\n%s", n, log.String())
		}
		if !strings.Contains(log.String(), "the resource is served now") {
			t.Errorf("did not say that it begins:\n%s", log.String())
		}
	})
}

func TestResourceThatIsServedAMomentLaterIsNoNews(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	inBubble(t, func() *plane { p := newPlane(); p.missing = true; return p }, logged(&log), func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		time.Sleep(500 * time.Millisecond)
		p.set(func(p *plane) { p.missing = false })
		<-i.Synced()
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("logged:\n%s", log.String())
		}
	})
}

// A resource that goes away takes nothing from the cache: that nothing is served is not to say that nothing is there.
func TestVanishedResourceDeletesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		p.put("a", "1")
		d.read()
		p.set(func(p *plane) { p.missing = true })
		time.Sleep(time.Hour)
		d.expect(t)
		p.set(func(p *plane) { p.missing = false })
		p.put("a", "2")
		pause()
		d.expect(t, "update a=1->2")
	})
}

func TestLostDoubledAndLateEventsGiveTheSameCache(t *testing.T) {
	t.Parallel()
	relisting := func() options { o := quiet(); o.Relist = time.Hour; return o }
	for seed := range uint64(30) {
		faulty := func() *plane {
			p := newPlane()
			p.faults = &faults{random: rand.New(rand.NewPCG(seed, 0))}
			return p
		}
		inBubble(t, faulty, relisting, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
			told := map[string]string{}
			i.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
				Add:    func(obj *corev1.ConfigMap, _ bool) { told[obj.Name] = obj.Data["value"] },
				Update: func(_, obj *corev1.ConfigMap) { told[obj.Name] = obj.Data["value"] },
				Delete: func(obj *corev1.ConfigMap, _ bool) { delete(told, obj.Name) },
			})
			random := rand.New(rand.NewPCG(seed, 1))
			for n := range 300 {
				name := fmt.Sprint("map-", random.IntN(10))
				switch random.IntN(10) {
				case 0, 1, 2:
					p.remove(name)
				case 3:
					p.set(func(p *plane) {})
				case 4:
					p.compact()
				default:
					p.put(name, fmt.Sprint(n))
				}
				time.Sleep(time.Duration(random.IntN(60)) * time.Second)
			}
			p.set(func(p *plane) { p.faults = nil })
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if want, got := p.values(), cached(i); !maps.Equal(got, want) || !maps.Equal(told, want) {
				t.Errorf("seed %d: the cache has %v, the handler believes %v, the server has %v", seed, got, told, want)
			}
		})
	}
}

// Doubled and late events alone, on a server that loses nothing, need no relist to be healed but for those that come
// after the object was deleted: they must not bring it back.
func TestLateEventDoesNotBringADeletedObjectBack(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		p.put("a", "1")
		synctest.Wait()
		p.put("a", "2")
		p.remove("a")
		d.read()
		p.mu.Lock()
		for _, event := range slices.Clone(p.history) {
			p.tell(event)
		}
		p.mu.Unlock()
		p.put("b", "1")
		d.expect(t, "add b=1 initial=false")
	})
}

func TestCacheSharesTheSourcesObjects(t *testing.T) {
	t.Parallel()
	there := func() *plane { p := newPlane(); p.put("a", "1"); return p }
	inBubble(t, there, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		key := informer.Key{Namespace: "ns", Name: "a"}
		want, err := p.objects[key].Decoded(p.codec)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := i.Indexer().Get(key); got != want {
			t.Error("the cache has a copy")
		}
	})
}

func TestListerAndIndexes(t *testing.T) {
	t.Parallel()
	indexed := func() options {
		o := quiet()
		o.Indexes = map[string]informer.IndexFunc[*corev1.ConfigMap]{
			"value": func(obj *corev1.ConfigMap) []string { return []string{obj.Data["value"]} },
		}
		return o
	}
	inBubble(t, newPlane, indexed, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		p.put("a", "x")
		p.put("b", "x")
		p.put("b", "y")
		synctest.Wait()
		i.Indexer().AddIndex("initial", func(obj *corev1.ConfigMap) []string { return []string{obj.Name[:1]} })
		for _, query := range []struct{ index, value, want string }{
			{"value", "x", "a"}, {"value", "y", "b"}, {"initial", "a", "a"}, {"value", "z", ""},
		} {
			found, err := i.Indexer().ByIndex(query.index, query.value)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(found); got != query.want {
				t.Errorf("index %s has %q under %s, want %q", query.index, got, query.value, query.want)
			}
		}
		if _, err := i.Indexer().ByIndex("nameless", ""); err == nil {
			t.Error("an index that was never added answers")
		}
		if _, err := i.Lister().Get("ns", "c"); !apierrors.IsNotFound(err) {
			t.Errorf("got %v", err)
		}
		if got := len(i.Lister().List("ns", nil)); got != 2 {
			t.Errorf("%d objects in the namespace", got)
		}
		if got := len(i.Lister().List("other", nil)); got != 0 {
			t.Errorf("%d objects in another namespace", got)
		}
	})
}

func names(objects []*corev1.ConfigMap) string {
	var names []string
	for _, obj := range objects {
		names = append(names, obj.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// overWire serves a plane as HTTP.
func overWire(p *plane) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "true" {
			list, _ := p.List(r.Context(), configmaps, client.Options{})
			out := map[string]any{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": map[string]string{"resourceVersion": list.Revision.String()}}
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
		watching, _ := p.Watch(r.Context(), configmaps, client.Options{After: after})
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

func TestInformerCannotTellTheWireFromTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane()
		p.put("a", "1")
		transport := client.NewTransport(overWire(p))
		c, err := client.New(transport.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var diaries []*diary
		for _, source := range []client.Source{p, client.NewSource(c)} {
			d := &diary{}
			diaries = append(diaries, d)
			f := informer.NewFactory(source, informer.FactoryOptions{Resync: time.Hour, Log: slog.New(slog.DiscardHandler)})
			informer.For[*corev1.ConfigMap](f, configmaps).AddHandler(d)
			informer.For[*unstructured.Unstructured](f, configmaps).AddHandler(informer.HandlerFuncs[*unstructured.Unstructured]{
				Add: func(obj *unstructured.Unstructured, _ bool) { d.write("untyped %s %s", obj.GetKind(), obj.GetName()) },
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
			want := []string{"add a=1 initial=true", "add b=1 initial=false", "delete a=1 unknown=false", "sync b=1", "untyped ConfigMap a", "untyped ConfigMap b"}
			if !slices.Equal(lines, want) {
				t.Errorf("told %q, want %q", lines, want)
			}
		}
		cancel()
		running.Wait()
		transport.Close()
	})
}

func TestObjectThatCannotBeReadKeepsItsLastState(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		p.put("a", "1")
		p.put("b", "1")
		d.read()
		p.spoil("a")
		p.set(func(p *plane) { p.oldest, p.history = p.revision+1, nil })
		p.put("b", "2")
		pause()
		d.expect(t, "update b=1->2")
		if got := cached(i); got["a"] != "1" {
			t.Errorf("the cache has %v", got)
		}
	})
}
