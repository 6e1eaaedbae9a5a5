package informer_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/informer"
)

// vanishRecorder is a blockingHandler that is a VanishHandler. It records the UID of each deleted object.
type vanishRecorder struct {
	*blockingHandler
	ends    map[string]bool // by UID
	unknown int             // of those, how many came without their state
}

func newVanishRecorder() *vanishRecorder {
	return &vanishRecorder{blockingHandler: newBlockingHandler(), ends: map[string]bool{}}
}

func (m *vanishRecorder) OnDelete(obj *corev1.ConfigMap, _ bool) { m.ends[string(obj.UID)] = true }

func (m *vanishRecorder) OnVanish(obj *corev1.ConfigMap, finalStateUnknown bool) {
	m.ends[string(obj.UID)] = true
	if finalStateUnknown {
		m.unknown++
	}
	if finalStateUnknown != (len(obj.Data) == 0) || obj.Name == "" || obj.Namespace != "ns" ||
		obj.ResourceVersion == "" {
		panic(fmt.Sprintf("unknown: %t, but notified of %v", finalStateUnknown, obj))
	}
}

// passing creates and deletes objects, and returns their UIDs.
func passing(p *plane, count int, name func(int) string) (uids []string) {
	for n := range count {
		uids = append(uids, fmt.Sprint("uid-", p.revision+1))
		p.put(name(n), "1")
		p.remove(name(n))
	}
	return uids
}

func (m *vanishRecorder) expectEnds(t *testing.T, uids []string) {
	t.Helper()
	synctest.Wait()
	for _, uid := range uids {
		if !m.ends[uid] {
			t.Fatalf("got notifications of %d of %d deleted objects, and none of %s", len(m.ends), len(uids), uid)
		}
	}
}

func TestVanishHandlerReceivesAllDeletions(t *testing.T) {
	t.Parallel()
	for _, newOptions := range []func() options{quiet, lazily} {
		log := &strings.Builder{}
		logging := func() options {
			o := newOptions()
			o.Log = slog.New(slog.NewTextHandler(log, nil))
			return o
		}
		inBubble(t, newPlane, logging, func(p *plane, i *informer.Informer[*corev1.ConfigMap], _ *deliveries) {
			m := newVanishRecorder()
			i.AddHandler(m)
			p.put("first", "1")
			<-m.called
			uids := passing(p, 3000, func(n int) string { return fmt.Sprint("passing-", n) })
			synctest.Wait()
			close(m.release)
			m.expectEnds(t, uids)
			if m.unknown != 3000-1024 || log.Len() > 0 {
				t.Errorf("got %d deletions without states; the log is:\n%s", m.unknown, log)
			}
		})
	}
}

// A slow Transform delays the cache. Objects that are created and deleted meanwhile wait in the delta FIFO.
func TestVanishHandlerReceivesDeletionsBeforeCaching(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, m, log := newPlane(), newVanishRecorder(), &strings.Builder{}
		called, release, once := make(chan struct{}), make(chan struct{}), sync.Once{}
		o := logged(log)()
		o.Transform = func(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			once.Do(func() { close(called); <-release })
			return obj, nil
		}
		i := informer.New(p, configmaps, o)
		i.AddHandler(m)
		close(m.release)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.Run(ctx) })
		synctest.Wait()
		p.put("first", "1")
		<-called
		uids := passing(p, 100, func(int) string { return "passing" })
		p.put("passing", "stays")
		synctest.Wait()
		close(release)
		m.expectEnds(t, uids)
		if len(m.ends) != 100 || m.unknown == 0 || log.Len() > 0 || i.Unreadable() > 0 {
			t.Errorf("got %d deletions, %d without states; the log has:\n%s", len(m.ends), m.unknown, log)
		}
		m.expect(t, "add first=1 initial=false", "add passing=stays initial=false")
		cancel()
		running.Wait()
	})
}
