package informer_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// inFactory runs a factory of a plane's informers in virtual time until f returns.
func inFactory(t *testing.T, options informer.FactoryOptions,
	f func(t *testing.T, p *plane, factory *informer.Factory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane()
		if options.Log == nil {
			options.Log = slog.New(slog.DiscardHandler)
		}
		factory := informer.NewFactory(p, options)
		defer run(factory)()
		f(t, p, factory)
	})
}

func labelled(value string) informer.Scope {
	return informer.Scope{Labels: labels.SelectorFromSet(labels.Set{"value": value})}
}

func TestFactorySharesInformersByScopeAndType(t *testing.T) {
	t.Parallel()
	inFactory(t, informer.FactoryOptions{}, func(t *testing.T, p *plane, f *informer.Factory) {
		all := informer.For[*corev1.ConfigMap](f, configmaps)
		some := informer.For[*corev1.ConfigMap](f, configmaps, labelled("1"))
		if all == some || all != informer.For[*corev1.ConfigMap](f, configmaps, informer.Scope{}) ||
			some != informer.For[*corev1.ConfigMap](f, configmaps, labelled("1")) ||
			some == informer.For[*corev1.ConfigMap](f, configmaps, labelled("2")) ||
			all == informer.For[*corev1.ConfigMap](f, configmaps, informer.Scope{Namespace: "ns"}) {
			t.Error("informers are not shared by scope")
		}
		informer.For[*unstructured.Unstructured](f, configmaps)
		if err := f.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.put("a", "1")
		p.put("b", "2")
		synctest.Wait()
		if lists, watches := p.requests(); lists != 5 || watches != 5 {
			t.Errorf("got %d lists and %d watches of five informers", lists, watches)
		}
		if got := names(some.Indexer().List()); got != "a" {
			t.Errorf("got labelled objects %q", got)
		}
		if got := names(all.Indexer().List()); got != "a,b" {
			t.Errorf("got objects %q", got)
		}
	})
}

func TestDroppedInformerStops(t *testing.T) {
	t.Parallel()
	inFactory(t, informer.FactoryOptions{}, func(t *testing.T, p *plane, f *informer.Factory) {
		p.put("a", "1")
		before := informer.For[*corev1.ConfigMap](f, configmaps)
		other := informer.For[*corev1.ConfigMap](f, configmaps, labelled("1"))
		if err := f.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		informer.Drop[*corev1.ConfigMap](f, configmaps)
		informer.Drop[*corev1.ConfigMap](f, configmaps) // has no effect
		synctest.Wait()
		p.put("b", "1")
		after := informer.For[*corev1.ConfigMap](f, configmaps)
		<-after.Synced()
		synctest.Wait()
		if got := names(before.Indexer().List()) + " " + names(other.Indexer().List()) + " " +
			names(after.Indexer().List()); got != "a a,b a,b" {
			t.Errorf("the dropped informer, another one and the next one have %s", got)
		}
	})
}

func TestMetadataInformerRequestsMetadata(t *testing.T) {
	t.Parallel()
	inFactory(t, informer.FactoryOptions{}, func(t *testing.T, p *plane, f *informer.Factory) {
		p.put("a", "1")
		heads := informer.For[*metav1.PartialObjectMetadata](f, configmaps)
		<-heads.Synced()
		if got, err := heads.Lister().Get("ns", "a"); err != nil || got.Labels["value"] != "1" {
			t.Errorf("got %v, %v", got, err)
		}
		<-informer.For[*corev1.ConfigMap](f, configmaps).Synced()
		if len(p.listOptions) != 2 || !p.listOptions[0].MetadataOnly || p.listOptions[1].MetadataOnly {
			t.Errorf("the source received the request %+v", p.listOptions)
		}
	})
}

func TestWaitForSyncReportsMissingResources(t *testing.T) {
	t.Parallel()
	inFactory(t, informer.FactoryOptions{}, func(t *testing.T, p *plane, f *informer.Factory) {
		informer.For[*corev1.ConfigMap](f, configmaps)
		ships := configmaps
		ships.Group, ships.Resource = "example.com", "ships"
		informer.For[*unstructured.Unstructured](f, ships)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := f.WaitForSync(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ships.example.com (") ||
			!strings.Contains(err.Error(), "not found") || strings.Contains(err.Error(), "configmaps") {
			t.Errorf("got %v", err)
		}
	})
}

// A controller may start before the definition of its resource is applied.
func TestInformerWaitsForResource(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	options := informer.FactoryOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}
	inFactory(t, options, func(t *testing.T, p *plane, f *informer.Factory) {
		p.set(func(p *plane) { p.missing = true })
		maps := informer.For[*corev1.ConfigMap](f, configmaps)
		time.Sleep(time.Hour)
		synctest.Wait()
		if !strings.Contains(log.String(), "the resource is not served yet") ||
			!strings.Contains(log.String(), "resource=configmaps") {
			t.Errorf("logged:\n%s", &log)
		}
		p.set(func(p *plane) { p.missing = false })
		p.put("a", "1")
		if err := f.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := names(maps.Indexer().List()); got != "a" {
			t.Errorf("got %q in the cache", got)
		}
	})
}

func TestFactoryWaitsForWriteInAllCaches(t *testing.T) {
	t.Parallel()
	inFactory(t, informer.FactoryOptions{}, func(t *testing.T, p *plane, f *informer.Factory) {
		typed := informer.For[*corev1.ConfigMap](f, configmaps)
		untyped := informer.For[*unstructured.Unstructured](f, configmaps)
		informer.For[*corev1.ConfigMap](f, configmaps, informer.Scope{Namespace: "elsewhere"})
		informer.For[*corev1.ConfigMap](f, configmaps, labelled("other"))
		p.put("a", "1")
		if err := f.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.put("a", "2")
		key := informer.Key{Namespace: "ns", Name: "a"}
		if err := f.WaitForWrite(t.Context(), client.Write{Resource: configmaps, Namespace: "ns", Name: "a",
			Revision: p.revision}); err != nil {
			t.Fatal(err)
		}
		_, first := typed.Indexer().Get(key)
		_, second := untyped.Indexer().Get(key)
		if !first || !second {
			t.Errorf("in the typed cache: %t, in the untyped one: %t; want both", first, second)
		}
		if err := f.WaitForWrite(t.Context(),
			client.Write{Resource: configmaps, Namespace: "third", Name: "x"}); err != nil {
			t.Error(err)
		}
	})
}

func TestResyncInVirtualTime(t *testing.T) {
	t.Parallel()
	inFactory(t, informer.FactoryOptions{Resync: time.Hour}, func(t *testing.T, p *plane, f *informer.Factory) {
		p.put("a", "1")
		synced, changed := 0, 0
		informer.For[*corev1.ConfigMap](f, configmaps).AddHandler(funcs{Update: func(old, new *corev1.ConfigMap) {
			if old.ResourceVersion == new.ResourceVersion {
				synced++
			} else {
				changed++
			}
		}})
		time.Sleep(7*24*time.Hour + time.Minute)
		synctest.Wait()
		if synced != 7*24 || changed != 0 {
			t.Errorf("got %d resyncs and %d changes in a week", synced, changed)
		}
	})
}

func TestFactoryTransformsObjectsOfAllTypes(t *testing.T) {
	t.Parallel()
	transform := func(obj client.Object) (client.Object, error) {
		obj.SetOwnerReferences(nil)
		if obj.GetName() == "bad" {
			return &corev1.Pod{}, nil
		}
		return obj, nil
	}
	inFactory(t, informer.FactoryOptions{Transform: transform}, func(t *testing.T, p *plane, f *informer.Factory) {
		p.put("a", "1")
		p.put("bad", "1")
		typed := informer.For[*corev1.ConfigMap](f, configmaps)
		untyped := informer.For[*unstructured.Unstructured](f, configmaps)
		if err := f.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, objects := range [][]client.Object{asObjects(typed.Indexer().List()),
			asObjects(untyped.Indexer().List())} {
			if len(objects) != 1 || len(objects[0].GetOwnerReferences()) != 0 {
				t.Errorf("got %v in the cache", objects)
			}
		}
	})
}

func asObjects[T client.Object](list []T) (objects []client.Object) {
	for _, obj := range list {
		objects = append(objects, obj)
	}
	return objects
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	inFactory(t, informer.FactoryOptions{}, func(t *testing.T, p *plane, f *informer.Factory) {
		maps := informer.For[*corev1.ConfigMap](f, configmaps)
		<-maps.Synced()
		g := newBlockingHandler()
		registration := maps.AddHandler(g)
		<-registration.Synced()
		for _, name := range []string{"a", "b", "c"} {
			p.put(name, "1")
		}
		synctest.Wait()
		waiting, notices := "informer_handler_waiting_objects handler=the blocking handler",
			"informer_handler_notices_total handler=the blocking handler"
		rest := " resource=configmaps scope=* type=*v1.ConfigMap version=v1"
		got := gathered(t, f)
		// The handler blocks at the first object after the end of the list.
		if got[waiting+rest] != 2 || got[notices+rest] != 2 || got["informer_objects"+rest] != 3 ||
			got["informer_synced"+rest] != 1 ||
			got["informer_store_resource_version"+rest] != float64(p.revision) {
			t.Errorf("got %v", got)
		}
		close(g.release)
		synctest.Wait()
		if got := gathered(t, f); got[waiting+rest] != 0 || got[notices+rest] != 4 ||
			got["informer_handler_panics_total handler=the blocking handler"+rest] != 0 {
			t.Errorf("got %v", got)
		}
	})
}

// gathered returns the metrics by name and labels.
func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}
