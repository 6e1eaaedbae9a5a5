package garbagecollector

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/discovery"
)

// An object that no longer has an owner of an unserved kind is no longer registered to wait for that kind.
func TestObjectsStopWaitingForFormerOwnerKinds(t *testing.T) {
	t.Parallel()
	g := &graph{queue: &controller.Trigger{}, unserved: map[schema.GroupKind]map[controller.Request]bool{}}
	h := handler{g, secrets.in}
	before := of(unserved).object
	after := of().object
	after.ResourceVersion = "2"
	c := &cache{Resource: discovery.Resource{GroupVersionResource: secrets.in}}
	c.objects = informer.New(nil, secrets.in, informer.Options[object]{})
	for what, ends := range map[string]func(){
		"an update":  func() { h.OnUpdate(before, after) },
		"a deletion": func() { h.OnDelete(before, false) },
		// the object is no longer cached
		"a late registration": func() { g.await(c, before, before.OwnerReferences[0]) },
	} {
		g.awaitKind(kindOf(before.OwnerReferences[0]), h.request(before))
		if ends(); len(g.unserved) > 0 {
			t.Errorf("after %s: got registrations %v, want none", what, g.unserved)
		}
	}
}

// A deletion may be reported after its kind has been dropped from the graph.
func TestDeletionAfterTheKindWasDropped(t *testing.T) {
	t.Parallel()
	g := &graph{caches: map[schema.GroupVersionResource]*cache{}}
	g.markAbsent(secrets.in, &metav1.PartialObjectMetadata{})
	if len(g.absent.owners) > 0 {
		t.Errorf("unknown kind: got absent owners %v, want none", g.absent.owners)
	}
}
