package informer_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/informer"
)

func TestReflectorSurvivesExpiredRevision(t *testing.T) {
	t.Parallel()
	populated := func() *plane { p := newPlane(); p.put("a", "1"); p.put("b", "1"); return p }
	inBubble(t, populated, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
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
		if want := []string{"add c=1 initial=false", "delete b=1 unknown=true", "update a=1->2"}; !slices.Equal(lines,
			want) {
			t.Errorf("after the relist: got notifications %q, want %q", lines, want)
		}
	})
}

func TestReflectorResumesBrokenWatch(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
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
			t.Errorf("got %d lists after a broken connection, want no further one", lists)
		}
	})
}

// If a server returns without objects and with other revisions, the cached objects are deleted.
func TestReflectorSurvivesEmptyServer(t *testing.T) {
	t.Parallel()
	populated := func() *plane { p := newPlane(); p.put("a", "old"); p.put("gone", "1"); return p }
	inBubble(t, populated, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		d.read()
		p.set(func(p *plane) { clear(p.objects); p.history, p.oldest, p.revision = nil, 5000, 5000 })
		p.put("a", "new")
		pause()
		lines := d.read()
		slices.Sort(lines)
		want := []string{"add a=new initial=false", "delete a=old unknown=true", "delete gone=1 unknown=true"}
		if !slices.Equal(lines, want) {
			t.Errorf("got notifications %q, want %q", lines, want)
		}
	})
}

func TestReflectorSurvivesRestoredServer(t *testing.T) {
	t.Parallel()
	populated := func() *plane { p := newPlane(); p.put("a", "old"); return p }
	inBubble(t, populated, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
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

func TestUnservedResourceIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	missing := func() *plane { p := newPlane(); p.missing = true; return p }
	inBubble(t, missing, logged(&log), func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
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
		if n := strings.Count(log.String(), "level=INFO msg=\"the resource is not served yet"); n != 1 {
			t.Errorf("logged the wait %d times:\n%s", n, log.String())
		}
		if !strings.Contains(log.String(), "the resource is served now") {
			t.Errorf("the log does not report that the resource is served:\n%s", log.String())
		}
	})
}

func TestShortlyUnservedResourceIsNotLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	missing := func() *plane { p := newPlane(); p.missing = true; return p }
	inBubble(t, missing, logged(&log), func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		time.Sleep(500 * time.Millisecond)
		p.set(func(p *plane) { p.missing = false })
		<-i.Synced()
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("logged:\n%s", log.String())
		}
	})
}

// When a resource is no longer served, the cache retains its objects: the server may still store them.
func TestUnservedResourceDeletesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
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

func TestFaultyEventsGiveSameCache(t *testing.T) {
	t.Parallel()
	relisting := func() options { o := quiet(); o.Relist = time.Hour; return o }
	for seed := range uint64(30) {
		faulty := func() *plane {
			p := newPlane()
			p.faults = &faults{random: rand.New(rand.NewPCG(seed, 0))}
			return p
		}
		inBubble(t, faulty, relisting, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
			notified := map[string]string{}
			i.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
				Add:    func(obj *corev1.ConfigMap, _ bool) { notified[obj.Name] = obj.Data["value"] },
				Update: func(_, obj *corev1.ConfigMap) { notified[obj.Name] = obj.Data["value"] },
				Delete: func(obj *corev1.ConfigMap, _ bool) { delete(notified, obj.Name) },
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
			if want, got := p.values(), cached(i); !maps.Equal(got, want) || !maps.Equal(notified, want) {
				t.Errorf("seed %d: the cache has %v, the notifications add up to %v, the server has %v", seed, got,
					notified,
					want)
			}
		})
	}
}

// A duplicate or late event that arrives after the deletion of its object must not restore the object.
func TestLateEventDoesNotRestoreDeletedObject(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		p.put("a", "1")
		synctest.Wait()
		p.put("a", "2")
		p.remove("a")
		d.read()
		p.mu.Lock()
		for _, event := range slices.Clone(p.history) {
			p.publish(event)
		}
		p.mu.Unlock()
		p.put("b", "1")
		d.expect(t, "add b=1 initial=false")
	})
}
