package garbagecollector

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// observer determines the state of an object's owners and its dependents. It reads the graph, and asks the server
// where the caches may be too old.
type observer struct {
	graph   *graph
	moments moments
}

// observe determines the state of the owners of obj and, where the decision needs them, its dependents.
func (ob *observer) observe(ctx context.Context, c *cache, obj object) (input, error) {
	s := input{location: location{c.GroupVersionResource}, object: obj}
	awaited := false
	for _, r := range obj.OwnerReferences {
		o, err := ob.owner(ctx, obj, r)
		if err != nil {
			return s, err
		}
		if o.state == unserved && !ob.graph.await(c, obj, r) {
			return s, fmt.Errorf("%s has just started to be served", r.Kind)
		}
		awaited = awaited || o.state == waiting
		s.owners = append(s.owners, o)
	}
	var err error
	switch {
	case orphansDependents(obj):
		s.dependents, err = ob.orphans(ctx, cached{c, obj})
	case waitsForDependents(obj):
		s.dependents, s.inCycle, err = ob.blockers(ctx, cached{c, obj})
	case awaited:
		s.dependents, err = ob.dependents(obj)
	}
	return s, err
}

// owner determines the state of the owner that r names. Only the server, or an observed deletion, can
// establish that an owner is absent. Only the server can establish that it waits for its dependents, because
// the cached owner may since have been changed to orphan them.
func (ob *observer) owner(ctx context.Context, obj object, r metav1.OwnerReference) (owner, error) {
	o := owner{OwnerReference: r, state: unserved}
	elsewhere, known := ob.graph.absent.find(obj.Namespace, r)
	c, key, ok := ob.graph.ownerOf(obj, r)
	switch {
	case known:
		o.state, o.elsewhere = absent, elsewhere
		return o, nil
	case c == nil:
		return o, nil
	case !ok:
		o.state, o.elsewhere = unresolvable, ob.graph.elsewhere(c, r)
		return o, nil
	}
	found, err := c.objects.Indexer().Find(key)
	if err == nil && found.UID == r.UID && stateOf(found) == present {
		o.state = present
		return o, nil
	} else if unreadable := (*informer.UnreadableError)(nil); errors.As(err, &unreadable) {
		return o, err
	}
	found, err = c.get(ctx, ob.graph.client, key)
	switch {
	case err == nil && found.UID == r.UID:
		o.state = stateOf(found)
	case err == nil || apierrors.IsNotFound(err) && !errors.Is(err, action.ErrUnserved):
		o.state, o.elsewhere = absent, ob.graph.elsewhere(c, r)
		ob.graph.absent.add(ownerKey{kindOf(r), key.Namespace, r.Name, r.UID}, o.elsewhere)
	default:
		return o, fmt.Errorf("checking whether its owner %s %s exists: %w", r.Kind, r.Name, err)
	}
	return o, nil
}

func stateOf(owner object) state {
	if waitsForDependents(owner) {
		return waiting
	}
	return present
}
