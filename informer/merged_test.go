package informer_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/informer"
)

// merging records which updates are merged. It blocks in the notification of the object slow until it is released.
type merging struct {
	deliveries
	proceed chan struct{}
}

func (m *merging) OnAdd(obj *corev1.ConfigMap, initial bool) {
	if obj.Name == "slow" {
		<-m.proceed
	}
	m.deliveries.OnAdd(obj, initial)
}

func (m *merging) OnMerged(old, new *corev1.ConfigMap) {
	m.write("merged %s=%s->%s", new.Name, old.Data["value"], new.Data["value"])
}

// If an object is changed and changed back while the handler, the cache or the reflector is behind, the update is
// reported as merged.
func TestCoalescedUpdatesAreReported(t *testing.T) {
	t.Parallel()
	var proceed chan struct{} // made in the bubble
	slow := func() options {
		o := quiet()
		o.Transform = func(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			if obj.Name == "slowly cached" {
				<-proceed
			}
			return obj, nil
		}
		return o
	}
	inBubble(t, newPlane, slow, func(p *plane, i *informer.Informer[*corev1.ConfigMap], all *deliveries) {
		proceed = make(chan struct{})
		m := &merging{proceed: make(chan struct{})}
		i.AddHandler(m)
		p.put("a", "0")
		m.expect(t, "add a=0 initial=false")
		p.put("a", "1")
		m.expect(t, "update a=0->1")
		p.put("slow", "0")
		backAndForth := func() {
			synctest.Wait()
			p.put("a", "2")
			synctest.Wait()
			p.put("a", "1")
			synctest.Wait()
		}
		backAndForth()
		m.proceed <- struct{}{}
		m.expect(t, "add slow=0 initial=false", "merged a=1->1")

		p.put("slowly cached", "0")
		backAndForth()
		close(proceed)
		m.expect(t, "add slowly cached=0 initial=false", "merged a=1->1")

		p.set(func(p *plane) { p.down = true })
		backAndForth()
		p.forget()
		p.set(func(p *plane) { p.down = false })
		pause()
		m.expect(t, "merged a=1->1")

		p.corrupt("a")
		m.expect(t)
		p.put("a", "1")
		m.expect(t, "merged a=1->1")
		p.put("a", "2")
		m.expect(t, "update a=1->2")
		all.read()
	})
}
