package bowlinetest

import (
	"context"
	"runtime/debug"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
	"github.com/bowline-dev/bowline/bowlinetest/internal/state"
	"github.com/bowline-dev/bowline/internal/object"
)

// compared reports whether the objects of a resource are part of a State.
func compared(r schema.GroupResource) bool {
	return r.Resource != "events" && r != schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
}

// versions maps the resources of a history to the version that the first object of each was written in.
type versions map[schema.GroupResource]schema.GroupVersionResource

// of returns the resource of a change; ok is false if it is not compared.
func (v versions) of(c fault.Change) (resource schema.GroupVersionResource, ok bool) {
	r := c.Key.GroupResource()
	if known, ok := v[r]; ok || !compared(r) {
		return known, ok
	}
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil || c.APIVersion == "" {
		return resource, false
	}
	v[r] = gv.WithResource(r.Resource)
	return v[r], true
}

// read lists all compared resources that changed, at a revision, or now if it is 0.
func (x *exploration) read(changes []fault.Change, at object.Revision) (versions, state.Resources, error) {
	known, all := versions{}, state.Resources{}
	for _, c := range changes {
		resource, ok := known.of(c)
		if _, read := all[resource]; !ok || read {
			continue
		}
		var err error
		if all[resource], err = x.list(x.ctx, resource, at); err != nil {
			return nil, nil, err
		}
	}
	return known, all, nil
}

// list lists the compared objects of a resource. An IPAddress of a service is left out: its service has the address.
func (x *exploration) list(ctx context.Context, resource schema.GroupVersionResource, at object.Revision) (
	[]state.Object, error) {
	objects, err := x.server.List(ctx, resource, at)
	if resource.Group == networkingv1.GroupName && resource.Resource == "ipaddresses" {
		objects = slices.DeleteFunc(objects, func(o state.Object) bool {
			return o.GetLabels()[networkingv1.LabelManagedBy] != ""
		})
	}
	return objects, err
}

// state reads the current state of all resources that ever had an object.
func (x *exploration) state() (State, error) {
	_, all, err := x.read(x.faults.History.Changes(0), 0)
	if err != nil {
		return State{}, err
	}
	return all.State(x.externalState()), nil
}

func (x *exploration) externalState() any {
	if x.ExternalState == nil {
		return nil
	}
	return x.ExternalState(x.system)
}

// check verifies the invariants after each commit from now on, until ctx ends, and then closes done.
func (x *exploration) check(ctx context.Context) (done chan struct{}) {
	done = make(chan struct{})
	if len(x.Invariants) == 0 {
		close(done)
		return done
	}
	before := x.faults.History.Changes(0)
	go func() {
		defer close(done)
		known, all, err := x.read(before, before[len(before)-1].Revision)
		if err != nil {
			x.faults.Fail("reading the state before the processes start: %v", err)
			return
		}
		c := &checker{x, known, all}
		for from := len(before); ; {
			changes := x.faults.History.Changes(from)
			from += len(changes)
			c.check(ctx, changes)
			select {
			case <-x.faults.History.Committed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return done
}

// checker holds the state after the last commit that it has read.
type checker struct {
	*exploration
	known versions
	all   state.Resources
}

// check checks the state after each of the commits.
func (c *checker) check(ctx context.Context, changes []fault.Change) {
	changed := false
	for i, change := range changes {
		if resource, ok := c.known.of(change); ok {
			objects, err := c.list(ctx, resource, change.Revision)
			if err != nil {
				if ctx.Err() == nil {
					c.faults.Fail("reading the state at revision %d: %v", change.Revision, err)
				}
				return
			}
			c.all[resource], changed = objects, true
		}
		if last := i+1 == len(changes) || changes[i+1].Revision != change.Revision; last && changed {
			c.checkInvariants()
			changed = false
		}
	}
}

func (c *checker) checkInvariants() {
	defer c.guard("an invariant")
	s := c.all.State(c.externalState())
	s.Objects = slices.DeleteFunc(slices.Clone(s.Objects), beingRemoved)
	for _, invariant := range c.Invariants {
		if err := invariant(s); err != nil {
			c.faults.Fail("an invariant is violated: %v", err)
			return
		}
	}
}

// beingRemoved reports whether nothing holds a deleted pod any more: the server removes it with the next commit, and
// controllers already replace it.
func beingRemoved(o state.Object) bool {
	grace := o.GetDeletionGracePeriodSeconds()
	return o.GetKind() == "Pod" && o.GetDeletionTimestamp() != nil && grace != nil && *grace == 0 && len(o.GetFinalizers()) == 0
}

// guard, when deferred, records a panic of the scenario's own functions as a problem.
func (x *exploration) guard(what string) {
	if v := recover(); v != nil {
		x.faults.Fail("%s panicked: %v\n%s", what, v, debug.Stack())
	}
}
