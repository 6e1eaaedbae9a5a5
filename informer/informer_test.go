package informer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/informer"
)

func TestHandlerReceivesInitialObjectsAndChanges(t *testing.T) {
	t.Parallel()
	populated := func() *plane { p := newPlane(); p.put("a", "1"); return p }
	inBubble(t, populated, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
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
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], first *deliveries) {
		p.put("a", "1")
		synctest.Wait()
		late := &deliveries{}
		<-i.AddHandler(late).Synced()
		late.expect(t, "add a=1 initial=true")
		p.put("a", "2")
		late.expect(t, "update a=1->2")
		first.expect(t, "add a=1 initial=false", "update a=1->2")
		if lists, watches := p.requests(); lists != 1 || watches != 1 {
			t.Errorf("got %d lists and %d watches of two handlers", lists, watches)
		}
	})
}

func TestSlowHandlerDelaysNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		calls := 0
		i.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{Add: func(*corev1.ConfigMap, bool) {
			time.Sleep(time.Hour)
			calls++
		}})
		start := time.Now()
		for n := range 10 {
			p.put(fmt.Sprint(n), "1")
		}
		if lines := d.read(); len(lines) != 10 || time.Since(start) != 0 {
			t.Errorf("the other handler got %d notifications after %v", len(lines), time.Since(start))
		}
		time.Sleep(11 * time.Hour)
		synctest.Wait()
		if calls != 10 {
			t.Errorf("the slow handler got %d notifications", calls)
		}
	})
}

func TestResyncNotifiesWithEqualObjects(t *testing.T) {
	t.Parallel()
	resyncing := func() options { o := quiet(); o.Resync = 10 * time.Minute; return o }
	populated := func() *plane { p := newPlane(); p.put("a", "1"); p.put("b", "1"); return p }
	inBubble(t, populated, resyncing, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
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

func TestCacheSharesSourceObjects(t *testing.T) {
	t.Parallel()
	populated := func() *plane { p := newPlane(); p.put("a", "1"); return p }
	inBubble(t, populated, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		key := informer.Key{Namespace: "ns", Name: "a"}
		want, err := p.objects[key].Decoded(p.codec)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := i.Indexer().Get(key); got != want {
			t.Error("the cache has a copy of the object, want the object itself")
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
	inBubble(t, newPlane, indexed, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
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
			t.Error("an index that was never added returned no error")
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
