package informer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/object"
)

// headless has lists in which the head of an object cannot be read.
type headless struct {
	*plane
	name string
}

func (h *headless) List(ctx context.Context, resource schema.GroupVersionResource, options client.Options) (client.List, error) {
	list, err := h.plane.List(ctx, resource, options)
	list.Items = slices.DeleteFunc(list.Items, func(o *object.Object) bool { return o.Key.Name() == h.name })
	if h.name != "" {
		list.Unreadable = []error{errors.New("an item cannot be read")}
	}
	return list, err
}

// forget breaks off all watches and forgets their place, so that informers list again.
func (p *plane) forget() {
	p.compact()
	p.set(func(p *plane) { p.oldest++; p.revision++ })
	pause()
}

func TestObjectWhoseHeadCannotBeReadInAListIsNotTakenForDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &headless{plane: newPlane()}
		h.put("a", "1")
		h.put("b", "1")
		i := informer.New(h, configmaps, quiet())
		defer run(i)()
		<-i.Synced()
		d := &diary{}
		i.AddHandler(d)
		d.read()
		h.set(func(*plane) { h.name = "a" })
		h.put("b", "2")
		h.forget()
		d.expect(t, "update b=1->2")
		h.remove("a")
		d.expect(t, "delete a=1 unknown=false")
		h.set(func(p *plane) { h.name = ""; delete(p.objects, informer.Key{Namespace: "ns", Name: "b"}) })
		h.forget()
		d.expect(t, "delete b=2 unknown=true")
		if n := i.Unreadable(); n != 1 {
			t.Errorf("%d objects were counted", n)
		}
	})
}
