package informer_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/informer"
)

// The notifications of each object are consistent although some states cannot be decoded: one addition first, and a
// deletion only after an addition.
func TestLazyNotificationsStayOrderedOverUndecodable(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, lazily, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *diary) {
		p.put("a", "1")
		d.expect(t, "add a=1 initial=false")
		p.spoil("a")
		d.expect(t)
		late := &diary{}
		i.AddHandler(late)
		late.expect(t)
		p.spoil("a")
		p.put("a", "4")
		d.expect(t, "update a=1->4")
		late.expect(t, "add a=4 initial=false")
		p.spoil("a")
		d.expect(t)
		never := &diary{}
		i.AddHandler(never)
		never.expect(t)
		p.remove("a")
		d.expect(t, "delete a=4 unknown=true")
		late.expect(t, "delete a=4 unknown=true")
		never.expect(t)
		p.put("a", "7")
		d.expect(t, "add a=7 initial=false")
		never.expect(t, "add a=7 initial=false")
	})
}

func TestGoexitInHandlerLosesOneNotification(t *testing.T) {
	t.Parallel()
	log, with := collected()
	inBubble(t, newPlane, with, func(p *plane, i *informer.Informer[*corev1.ConfigMap], other *diary) {
		var told diary
		g := newGate()
		i.AddHandler(funcs{
			Add: func(obj *corev1.ConfigMap, initial bool) {
				told.OnAdd(obj, initial)
				if obj.Name == "bad" {
					runtime.Goexit()
				}
			},
			Update: func(_, obj *corev1.ConfigMap) { g.OnAdd(obj, false) },
			Delete: func(*corev1.ConfigMap, bool) { runtime.Goexit() },
		})
		p.put("bad", "1")
		p.put("good", "1")
		told.expect(t, "add bad=1 initial=false", "add good=1 initial=false")
		p.put("good", "2")
		<-g.inside
		p.remove("bad")
		p.put("bad", "2")
		synctest.Wait()
		close(g.open)
		p.put("last", "1")
		told.expect(t, "add bad=2 initial=false", "add last=1 initial=false")
		if n := strings.Count(log.String(), "runtime.Goexit, as t.FailNow"); n != 3 ||
			!strings.Contains(log.String(), "call=OnDelete object=ns/bad") {
			t.Errorf("got %d reports, want 1:\n%s", n, log)
		}
	})
}

func TestStopReportsStuckHandlers(t *testing.T) {
	t.Parallel()
	log, with := collected()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane()
		i := informer.New(p, configmaps, with())
		g := newGate()
		i.AddHandler(g)
		for range 50 {
			i.AddHandler(funcs{Add: func(*corev1.ConfigMap, bool) { time.Sleep(time.Second) }})
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { i.Run(ctx); close(ended) }()
		<-i.Synced()
		p.put("a", "1")
		<-g.inside
		synctest.Wait()
		cancel()
		<-ended
		if n := strings.Count(log.String(), "its goroutine is abandoned"); n != 1 ||
			!strings.Contains(log.String(), `handler="the gate"`) {
			t.Errorf("%d handlers are reported:\n%s", n, log)
		}
		close(g.open)
	})
}
