package bowlinetest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
	"github.com/bowline-dev/bowline/bowlinetest/internal/state"
	"github.com/bowline-dev/bowline/object"
)

// compared says whether the objects of a resource are part of a State.
func compared(r schema.GroupResource) bool {
	return r.Resource != "events" && r != schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
}

// versions are the resources that changes were made in, each in the version that an object of it was first written in.
type versions map[schema.GroupResource]schema.GroupVersionResource

// of finds the resource of a change; ok is false for one that is not compared, or of which nothing but deletions are known.
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

// state is what there is now, of the resources in which anything was changed after the first changes of the history.
func (x *exploration) state(before int) (State, error) {
	known, all := versions{}, state.Resources{}
	for _, c := range x.faults.History.Changes(before) {
		resource, ok := known.of(c)
		if _, read := all[resource]; !ok || read {
			continue
		}
		var err error
		if all[resource], err = x.server.List(x.ctx, resource, 0); err != nil {
			return State{}, err
		}
	}
	return all.State(x.snapshot()), nil
}

func (x *exploration) snapshot() any {
	if x.Snapshot == nil {
		return nil
	}
	return x.Snapshot(x.world)
}

// check looks at the invariants after each commit, until ctx ends; the channel is closed then.
func (x *exploration) check(ctx context.Context, from int) (done chan struct{}) {
	done = make(chan struct{})
	if len(x.Invariants) == 0 {
		close(done)
		return done
	}
	c := &checker{exploration: x, known: versions{}, all: state.Resources{}}
	go func() {
		defer close(done)
		for {
			changes := x.faults.History.Changes(from)
			from += len(changes)
			c.take(ctx, changes)
			select {
			case <-x.faults.History.Committed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return done
}

// checker has the state after the last commit that it looked at.
type checker struct {
	*exploration
	known versions
	all   state.Resources
}

// take looks at the state after each of the commits.
func (c *checker) take(ctx context.Context, changes []fault.Change) {
	for i, change := range changes {
		resource, ok := c.known.of(change)
		if !ok {
			continue
		}
		objects, err := c.server.List(ctx, resource, change.Revision)
		if err != nil {
			if ctx.Err() == nil {
				c.faults.Fail("reading the state at revision %d: %v", change.Revision, err)
			}
			return
		}
		c.all[resource] = objects
		if i+1 == len(changes) || changes[i+1].Revision != change.Revision {
			c.judge(change.Revision)
		}
	}
}

func (c *checker) judge(_ object.Revision) {
	s := c.all.State(c.snapshot())
	for _, invariant := range c.Invariants {
		if err := invariant(s); err != nil {
			c.faults.Fail("an invariant is broken: %v", err)
			return
		}
	}
}
