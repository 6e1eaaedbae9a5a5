package informer_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/informer"
)

type options = informer.Options[*corev1.ConfigMap]

// deliveries records the notifications of a handler.
type deliveries struct {
	mu    sync.Mutex
	lines []string
}

func (d *deliveries) write(format string, arguments ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, arguments...))
}

func (d *deliveries) OnAdd(obj *corev1.ConfigMap, initial bool) {
	d.write("add %s=%s initial=%t", obj.Name, obj.Data["value"], initial)
}

func (d *deliveries) OnUpdate(old, new *corev1.ConfigMap) {
	if old == new {
		d.write("sync %s=%s", new.Name, new.Data["value"])
		return
	}
	d.write("update %s=%s->%s", new.Name, old.Data["value"], new.Data["value"])
}

func (d *deliveries) OnDelete(obj *corev1.ConfigMap, unknown bool) {
	d.write("delete %s=%s unknown=%t", obj.Name, obj.Data["value"], unknown)
}

// read returns the notifications since its last call, once all goroutines are idle.
func (d *deliveries) read() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// expect compares the notifications since the last call of read.
func (d *deliveries) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := d.read(); !slices.Equal(got, want) {
		t.Errorf("got notifications %q, want %q", got, want)
	}
}

// inBubble runs an informer of a plane with a handler that records its notifications, in virtual time, and stops it
// when f returns.
func inBubble(t *testing.T, p func() *plane, o func() options,
	f func(*plane, *informer.Informer[*corev1.ConfigMap], *deliveries)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plane := p()
		i := informer.New(plane, configmaps, o())
		d := &deliveries{}
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

// cached returns the objects of an informer's cache.
func cached(i *informer.Informer[*corev1.ConfigMap]) map[string]string {
	values := map[string]string{}
	for _, obj := range i.Indexer().List() {
		values[obj.Name] = obj.Data["value"]
	}
	return values
}

// logged makes an informer log to a buffer.
func logged(log *strings.Builder) func() options {
	return func() options { return options{Log: slog.New(slog.NewTextHandler(log, nil))} }
}
