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
	inBubble(t, newPlane, lazily, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		p.put("a", "1")
		d.expect(t, "add a=1 initial=false")
		p.corrupt("a")
		d.expect(t)
		second := &deliveries{}
		i.AddHandler(second)
		second.expect(t)
		p.corrupt("a")
		p.put("a", "4")
		d.expect(t, "update a=1->4")
		second.expect(t, "add a=4 initial=false")
		p.corrupt("a")
		d.expect(t)
		third := &deliveries{}
		i.AddHandler(third)
		third.expect(t)
		p.remove("a")
		d.expect(t, "delete a=4 unknown=true")
		second.expect(t, "delete a=4 unknown=true")
		third.expect(t)
		p.put("a", "7")
		d.expect(t, "add a=7 initial=false")
		third.expect(t, "add a=7 initial=false")
	})
}

func TestGoexitInHandlerLosesOneNotification(t *testing.T) {
	t.Parallel()
	log, withLog := logBuffer()
	inBubble(t, newPlane, withLog, func(p *plane, i *informer.Informer[*corev1.ConfigMap], other *deliveries) {
		var received deliveries
		g := newBlockingHandler()
		i.AddHandler(funcs{
			Add: func(obj *corev1.ConfigMap, initial bool) {
				received.OnAdd(obj, initial)
				if obj.Name == "bad" {
					runtime.Goexit()
				}
			},
			Update: func(_, obj *corev1.ConfigMap) { g.OnAdd(obj, false) },
			Delete: func(*corev1.ConfigMap, bool) { runtime.Goexit() },
		})
		p.put("bad", "1")
		p.put("good", "1")
		received.expect(t, "add bad=1 initial=false", "add good=1 initial=false")
		p.put("good", "2")
		<-g.called
		p.remove("bad")
		p.put("bad", "2")
		synctest.Wait()
		close(g.release)
		p.put("last", "1")
		received.expect(t, "add bad=2 initial=false", "add last=1 initial=false")
		if n := strings.Count(log.String(), "runtime.Goexit, as t.FailNow"); n != 3 ||
			!strings.Contains(log.String(), "call=OnDelete object=ns/bad") {
			t.Errorf("got %d reports, want 1:\n%s", n, log)
		}
	})
}

func TestStopReportsStuckHandlers(t *testing.T) {
	t.Parallel()
	log, withLog := logBuffer()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane()
		i := informer.New(p, configmaps, withLog())
		g := newBlockingHandler()
		i.AddHandler(g)
		for range 50 {
			i.AddHandler(funcs{Add: func(*corev1.ConfigMap, bool) { time.Sleep(time.Second) }})
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { i.Run(ctx); close(ended) }()
		<-i.Synced()
		p.put("a", "1")
		<-g.called
		synctest.Wait()
		cancel()
		<-ended
		if n := strings.Count(log.String(), "its goroutine is abandoned"); n != 1 ||
			!strings.Contains(log.String(), `handler="the blocking handler"`) {
			t.Errorf("%d handlers are reported:\n%s", n, log)
		}
		close(g.release)
	})
}
