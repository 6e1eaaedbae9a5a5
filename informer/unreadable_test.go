package informer_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

// sources returns the sources through which an informer may read a plane's objects.
var sources = map[string]func(t *testing.T, p *plane) client.Source{
	"in process": func(_ *testing.T, p *plane) client.Source { return p },
	"wire":       func(t *testing.T, p *plane) client.Source { return client.NewSource(wired(t, p)) },
}

// wired returns a client of a plane that is served over HTTP until the test ends.
func wired(t *testing.T, p *plane) *client.Client {
	transport := inprocess.NewTransport(overWire(p))
	t.Cleanup(transport.Close)
	c, err := client.New(transport.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kinds are the options with which an informer may read its objects.
var kinds = map[string]func(o *options){
	"eager": func(*options) {},
	"lazy":  func(o *options) { o.Lazy = true },
	"transform": func(o *options) {
		o.Transform = func(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) { return obj, nil }
	},
}

// A controller that deletes an external resource if its object is not found must not do so if the object cannot be
// decoded.
func TestUndecodableObjectIsNotNotFound(t *testing.T) {
	t.Parallel()
	for from, source := range sources {
		for kind, configure := range kinds {
			t.Run(from+" "+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p, o := newPlane(), quiet()
					configure(&o)
					p.corrupt("a")
					p.put("b", "1")
					i := informer.New(source(t, p), configmaps, o)
					defer run(i)()
					<-i.Synced()
					w := undecodable{t, p, i}
					w.checkStates(kind == "lazy")
				})
			})
		}
	}
}

// undecodable is an informer and the plane with the objects that it cannot decode.
type undecodable struct {
	*testing.T
	plane    *plane
	informer *informer.Informer[*corev1.ConfigMap]
}

// checkStates changes objects between decodable and undecodable states. "a" cannot be decoded at first, "b" can.
func (w undecodable) checkStates(lazy bool) {
	w.expect("a", "unreadable")
	w.expect("b", "1")
	w.expect("c", "not found")

	w.plane.put("a", "2")
	w.expect("a", "2")

	w.plane.corrupt("c")
	w.expect("c", "unreadable")
	w.plane.remove("c")
	w.expect("c", "not found")

	w.plane.corrupt("b")
	if lazy {
		w.expect("b", "unreadable")
	} else {
		w.expect("b", "1") // the last state that could be read
	}
	w.plane.remove("b")
	w.expect("b", "not found")
	w.plane.corrupt("b") // another object
	w.expect("b", "unreadable")

	w.plane.set(deleteUnobserved("b"))
	pause()
	w.expect("b", "not found")
}

// expect checks the result of a lister for an object.
func (w undecodable) expect(name, want string) {
	w.Helper()
	synctest.Wait()
	got := ""
	obj, err := w.informer.Lister().Get("ns", name)
	var unreadable *informer.UnreadableError
	switch {
	case apierrors.IsNotFound(err):
		got = "not found"
	case errors.As(err, &unreadable):
		got = "unreadable"
		w.expectError(name, unreadable)
	case err != nil:
		got = err.Error()
	default:
		got = obj.Data["value"]
	}
	if got != want {
		w.Errorf("%s is %s, want %s", name, got, want)
	}
	if err == nil {
		return
	}
	if cached, ok := w.informer.Indexer().Get(informer.Key{Namespace: "ns", Name: name}); ok || cached != nil ||
		obj != nil {
		w.Errorf("%s is %s, and yet there are %v and %v", name, got, cached, obj)
	}
}

// expectError checks that an error names the object and the field, and what to do.
func (w undecodable) expectError(name string, e *informer.UnreadableError) {
	w.Helper()
	key := informer.Key{Namespace: "ns", Name: name}
	want := w.plane.objects[key]
	if e.Key != key || e.UID != want.UID || e.Revision != want.Revision || e.Resource != configmaps.GroupResource() {
		w.Errorf("the error is of %v %s, uid %s, revision %d", e.Resource, e.Key, e.UID, e.Revision)
	}
	for _, part := range []string{`configmaps "ns/` + name + `"`, "data", "correct"} {
		if !strings.Contains(e.Error(), part) {
			w.Errorf("the error lacks %s: %v", part, e)
		}
	}
}

// A Transform may return a NotFound error, which must not be mistaken for a missing object.
func TestTransformNotFoundErrorIsNotNotFound(t *testing.T) {
	t.Parallel()
	failing := func() options {
		o := quiet()
		o.Transform = func(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			return nil, apierrors.NewNotFound(configmaps.GroupResource(), "what it refers to")
		}
		return o
	}
	inBubble(t, newPlane, failing, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		p.put("a", "1")
		synctest.Wait()
		if _, err := i.Lister().Get("ns", "a"); err == nil || apierrors.IsNotFound(err) ||
			!apierrors.IsInternalError(err) {
			t.Errorf("got error %v from the lister", err)
		}
	})
}

// ends is a VanishHandler that records all deletions.
type ends struct{ deliveries }

func (e *ends) OnVanish(obj *corev1.ConfigMap, finalStateUnknown bool) {
	e.write("end %s of %s unknown=%t", obj.Name, obj.UID, finalStateUnknown)
}

// A VanishHandler, such as a client that waits for its own writes, may wait for the deletion of an object
// that could not be decoded.
func TestVanishHandlerReceivesUndecodableDeletions(t *testing.T) {
	t.Parallel()
	for _, newOptions := range []func() options{quiet, lazily} {
		inBubble(t, newPlane, newOptions, func(p *plane, i *informer.Informer[*corev1.ConfigMap], other *deliveries) {
			var e ends
			i.AddHandler(&e)
			uid := func() string { return "uid-" + (p.revision + 1).String() }
			first := uid()
			p.corrupt("a")
			synctest.Wait()
			p.remove("a")
			e.expect(t, "end a of "+first+" unknown=true")
			second := uid()
			p.corrupt("a")
			synctest.Wait()
			p.set(deleteUnobserved("a"))
			pause()
			e.expect(t, "end a of "+second+" unknown=true")
			third := uid()
			p.corrupt("a")
			synctest.Wait()
			p.set(deleteUnobserved("a"))
			p.put("a", "1") // before it is listed again
			pause()
			e.expect(t, "end a of "+third+" unknown=true", "add a=1 initial=false")
			other.expect(t, "add a=1 initial=false")
		})
	}
}

// deleteUnobserved deletes an object without an event.
func deleteUnobserved(name string) func(p *plane) {
	return func(p *plane) {
		p.revision++
		p.oldest, p.history = p.revision, nil
		delete(p.objects, informer.Key{Namespace: "ns", Name: name})
	}
}

// A controller must not mistake a deleted object for an undecodable one that has its name now.
func TestUndecodableSuccessorRemovesObject(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		p.put("a", "1")
		d.expect(t, "add a=1 initial=false")
		p.set(deleteUnobserved("a"))
		p.corrupt("a") // before it is listed again
		pause()
		d.expect(t, "delete a=1 unknown=true")
		if _, err := i.Lister().Get("ns", "a"); !errors.As(err, new(*informer.UnreadableError)) {
			t.Errorf("got error %v from the lister", err)
		}
	})
}
