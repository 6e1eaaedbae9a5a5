package garbagecollector

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/resources"
)

// Who no longer has an owner of a kind that is not served waits for that no more.
func TestNobodyWaitsForTheKindOfAnOwnerItHadOnce(t *testing.T) {
	t.Parallel()
	g := &graph{look: &controller.Trigger{}, unserved: map[schema.GroupKind]map[controller.Request]bool{}}
	h := handler{g, secrets.in}
	before := of(unserved).object
	after := of().object
	after.ResourceVersion = "2"
	c := &cache{Resource: resources.Resource{GroupVersionResource: secrets.in}}
	c.objects = informer.New(nil, secrets.in, informer.Options[object]{})
	for what, ends := range map[string]func(){
		"an update":   func() { h.OnUpdate(before, after) },
		"a deletion":  func() { h.OnDelete(before, false) },
		"one in time": func() { g.await(c, before, before.OwnerReferences[0]) }, // the cache does not have it any more
	} {
		g.awaitKind(kindOf(before.OwnerReferences[0]), h.request(before))
		if ends(); len(g.unserved) > 0 {
			t.Errorf("after %s %v is waited for", what, g.unserved)
		}
	}
}

// The end of an object may be told of when its kind is known no more.
func TestTheEndOfWhatIsKnownNoMore(t *testing.T) {
	t.Parallel()
	g := &graph{caches: map[schema.GroupVersionResource]*cache{}}
	g.gone(secrets.in, &metav1.PartialObjectMetadata{})
	if len(g.absent.owners) > 0 {
		t.Errorf("of a kind that nobody knows are absent %v", g.absent.owners)
	}
}
