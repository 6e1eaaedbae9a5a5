package informer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/informer"
)

type funcs = informer.HandlerFuncs[*corev1.ConfigMap]

// blockingHandler blocks in its first call until it is released, and records its notifications.
type blockingHandler struct {
	deliveries
	called  chan struct{} // closed when the first call starts
	release chan struct{}
	once    sync.Once
}

func newBlockingHandler() *blockingHandler {
	return &blockingHandler{called: make(chan struct{}), release: make(chan struct{})}
}

func (g *blockingHandler) OnAdd(obj *corev1.ConfigMap, initial bool) {
	g.once.Do(func() { close(g.called); <-g.release })
	g.deliveries.OnAdd(obj, initial)
}

func (g *blockingHandler) String() string { return "the blocking handler" }

func TestBacklogIsBoundedByObjects(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], other *deliveries) {
		g := newBlockingHandler()
		i.AddHandler(g)
		p.put("first", "1")
		<-g.called
		for n := range 1000 {
			p.put("changing", fmt.Sprint(n))
			p.put("passing", fmt.Sprint(n))
			p.remove("passing")
			if n%100 == 0 {
				synctest.Wait()
			}
		}
		p.remove("first")
		p.put("first", "again")
		other.read()
		close(g.release)
		g.expect(t, "add first=1 initial=false", "add changing=999 initial=false", "delete first=1 unknown=false",
			"add first=again initial=false")
	})
}

// logBuffer returns a buffer, and options with which an informer logs to it.
func logBuffer() (*strings.Builder, func() options) {
	log := &strings.Builder{}
	return log, logged(log)
}

func TestStuckHandlerIsReportedAndBlocksNoOther(t *testing.T) {
	t.Parallel()
	log, withLog := logBuffer()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane()
		i := informer.New(p, configmaps, withLog())
		g, other := newBlockingHandler(), &deliveries{}
		blocked := i.AddHandler(g)
		i.AddHandler(other)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { i.Run(ctx); close(ended) }()
		<-i.Synced()
		p.put("a", "1")
		<-g.called
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := strings.Count(log.String(), `msg="a handler does not return`); n != 1 ||
			!strings.Contains(log.String(), `handler="the blocking handler" object=ns/a`) {
			t.Errorf("got %d reports, want 1:\n%s", n, log)
		}
		blocked.Remove()
		p.put("a", "2")
		other.expect(t, "add a=1 initial=false", "update a=1->2")
		cancelled := time.Now()
		cancel()
		<-ended
		if took := time.Since(cancelled); took > 10*time.Second {
			t.Errorf("Run returned after %v", took)
		}
		if !strings.Contains(log.String(), "its goroutine is abandoned") {
			t.Errorf("the log does not name the abandoned goroutine:\n%s", log)
		}
		close(g.release)
		g.expect(t, "add a=1 initial=false")
	})
}

func TestHandlerPanicLosesOneNotification(t *testing.T) {
	t.Parallel()
	log, withLog := logBuffer()
	inBubble(t, newPlane, withLog, func(p *plane, i *informer.Informer[*corev1.ConfigMap], other *deliveries) {
		var received deliveries
		i.AddHandler(funcs{Add: func(obj *corev1.ConfigMap, initial bool) {
			if obj.Name == "bad" {
				panic("I do not like it")
			}
			received.OnAdd(obj, initial)
		}})
		p.put("bad", "1")
		p.put("good", "1")
		received.expect(t, "add good=1 initial=false")
		other.expect(t, "add bad=1 initial=false", "add good=1 initial=false")
		for _, part := range []string{"a handler panicked", "I do not like it", "object=ns/bad", "call=OnAdd",
			"TestHandlerPanic", "handler_test.go"} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("the log lacks %q:\n%s", part, log)
			}
		}
	})
}

func TestHandlersCanBeChangedDuringNotification(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], _ *deliveries) {
		var first, second deliveries
		var registration *informer.Registration
		ready := make(chan struct{})
		registration = i.AddHandler(funcs{Add: func(obj *corev1.ConfigMap, initial bool) {
			<-ready
			first.OnAdd(obj, initial)
			i.AddHandler(&second)
			registration.Remove()
			registration.Remove()
		}})
		close(ready)
		p.put("a", "1")
		p.put("b", "1")
		first.expect(t, "add a=1 initial=false")
		p.put("a", "2")
		lines := second.read()
		slices.Sort(lines)
		if len(lines) != 3 || lines[2] != "update a=1->2" {
			t.Errorf("the handler added during a notification got %q", lines)
		}
		first.expect(t)
	})
}

func TestRemovedHandlerIsNotNotified(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], other *deliveries) {
		var d deliveries
		registration := i.AddHandler(&d)
		<-registration.Synced()
		p.put("a", "1")
		d.expect(t, "add a=1 initial=false")
		registration.Remove()
		p.put("a", "2")
		other.expect(t, "add a=1 initial=false", "update a=1->2")
		d.expect(t)
	})
}

func TestResyncNotifiesOneHandler(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], other *deliveries) {
		var d deliveries
		registration := i.AddHandler(&d)
		p.put("a", "1")
		d.read()
		other.read()
		registration.Resync()
		d.expect(t, "sync a=1")
		other.expect(t)
	})
}

func TestWaitForRevisionWaitsForWrite(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], _ *deliveries) {
		key := informer.Key{Namespace: "ns", Name: "a"}
		p.put("a", "1")
		first := p.revision
		if err := i.WaitForRevision(context.Background(), key, first); err != nil {
			t.Fatal(err)
		}
		if got := cached(i)["a"]; got != "1" {
			t.Errorf("got %q in the cache", got)
		}
		for name, end := range map[string]func(){
			"a later state": func() { p.put("a", "2"); p.put("a", "3") },
			"its deletion":  func() { p.remove("a") },
		} {
			next := p.revision + 1
			reached := make(chan error, 1)
			go func() { reached <- i.WaitForRevision(context.Background(), key, next) }()
			synctest.Wait()
			select {
			case err := <-reached:
				t.Errorf("%s: got %v before the revision, want an error", name, err)
			default:
			}
			end()
			if err := <-reached; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := i.WaitForRevision(context.Background(), key, 0); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitForRevisionEndsWithContext(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], _ *deliveries) {
		p.put("a", "1")
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err := i.WaitForRevision(ctx, informer.Key{Namespace: "ns", Name: "a"}, p.revision+7)
		want := fmt.Sprintf("the cache of configmaps does not have ns/a at revision %d yet: context deadline exceeded",
			p.revision+7)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}
