package informer_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/informer"
)

// recorder is a TB that records failures.
type recorder struct {
	failures []string
	cleanup  func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = f }
func (r *recorder) Errorf(format string, arguments ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, arguments...))
}

// detecting makes an informer report mutations to r.
func detecting(r *recorder, lazy bool) func() options {
	return func() options {
		o := quiet()
		o.Lazy, o.Mutations = lazy, informer.DetectMutations(r)
		return o
	}
}

func TestMutationOfACachedObjectIsDetected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		touch func(*plane)
	}{
		{"at the end of the test", func(*plane) {}},
		{"when the object is replaced", func(p *plane) { p.put("a", "2") }},
		{"when the object is deleted", func(p *plane) { p.remove("a") }},
	} {
		for _, lazy := range []bool{false, true} {
			r := &recorder{}
			inBubble(t, newPlane, detecting(r, lazy),
				func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
					p.put("a", "1")
					p.put("innocent", "1")
					synctest.Wait()
					obj, _ := i.Indexer().Get(informer.Key{Namespace: "ns", Name: "a"})
					obj.Data["value"] = "mine"
					obj.Labels = nil
					test.touch(p)
					synctest.Wait()
					r.cleanup()
				})
			want := "the cached *v1.ConfigMap ns/a was changed; objects from a cache are shared, copy them first:\n" +
				`data.value: "1" is now "mine"` + "\n" + `metadata.labels: {"value":"1"} is now nothing`
			if len(r.failures) != 1 || r.failures[0] != want {
				t.Errorf("%s, lazy %t: got %q", test.name, lazy, r.failures)
			}
		}
	}
}

// mutatingHandler is a handler that modifies objects.
type mutatingHandler struct{ funcs }

func (mutatingHandler) String() string { return "the mutating handler" }

func TestMutationReportNamesHandler(t *testing.T) {
	t.Parallel()
	for _, lazy := range []bool{false, true} {
		r := &recorder{}
		inBubble(t, newPlane, detecting(r, lazy),
			func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
				i.AddHandler(mutatingHandler{funcs{
					Add:    func(obj *corev1.ConfigMap, _ bool) { obj.OwnerReferences[0].Name = "me" },
					Update: func(old, _ *corev1.ConfigMap) { old.Data["seen"] = "yes" },
				}})
				p.put("a", "1")
				synctest.Wait()
				p.put("a", "2")
				synctest.Wait()
				r.cleanup()
			})
		if len(r.failures) != 2 {
			t.Fatalf("lazy %t: got %q", lazy, r.failures)
		}
		for n, change := range []string{`metadata.ownerReferences[0].name: "" is now "me"`,
			`data.seen: nothing is now "yes"`} {
			if !strings.Contains(r.failures[n], "ns/a was changed by the handler the mutating handler;") ||
				!strings.HasSuffix(r.failures[n], ":\n"+change) {
				t.Errorf("lazy %t: got %q, want %s", lazy, r.failures[n], change)
			}
		}
	}
}

func TestMutationIsDetectedInRemainingCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		detect := detecting(r, false)()
		p, other := newPlane(), newPlane()
		p.put("a", "1")
		other.codec, other.objects = p.codec, maps.Clone(p.objects)
		defer run(informer.New(p, configmaps, detect))()
		i := informer.New(other, configmaps, detect)
		defer run(i)()
		synctest.Wait()
		p.remove("a")
		synctest.Wait()
		obj, _ := i.Indexer().Get(informer.Key{Namespace: "ns", Name: "a"})
		obj.Data["value"] = "mine"
		r.cleanup()
		if len(r.failures) != 1 || !strings.Contains(r.failures[0], `data.value: "1" is now "mine"`) {
			t.Errorf("got %q", r.failures)
		}
	})
}
