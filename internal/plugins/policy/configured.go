package policy

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// configuration is the policies in force. It is read when it is first used, and again after a change.
type configuration struct {
	source
	current atomic.Pointer[configured]
	mu      sync.Mutex // serializes reading
}

// configured is one state of all policies and bindings.
type configured struct {
	// policies are those with a binding, ordered by name.
	policies []*policy
	// byResource has the positions in policies of those whose rules name a resource, and any of those with a rule for
	// all resources.
	byResource map[string][]int
	any        []int
	// changed are closed when a policy or binding changes, which makes this value stale.
	changed []<-chan struct{}
}

// policy is a policy with its bindings, ordered by name.
type policy struct {
	*definition
	bindings []*binding
}

// source is where the policies of a plugin are stored, and how they are parsed.
type source struct {
	policies, bindings schema.GroupResource
	// define and bind return nil for an object of another type.
	define func(kind.Object) *definition
	bind   func(kind.Object) *binding
}

// definition is the parsed spec of a policy.
type definition struct {
	*metav1.ObjectMeta
	paramKind *admissionregistrationv1.ParamKind
	failure   *admissionregistrationv1.FailurePolicyType
	match     *matching.Criteria
	// compiled compiles the expressions on first use.
	compiled func() *compiled
	// validations and annotations are those of a policy that validates.
	validations []admissionregistrationv1.Validation
	annotations []admissionregistrationv1.AuditAnnotation
	// reinvoked is set for a policy that mutates with the reinvocationPolicy IfNeeded.
	reinvoked bool
}

// binding is a parsed binding.
type binding struct {
	name, policy string
	param        *admissionregistrationv1.ParamRef
	match        *matching.Criteria
	// actions are those of a binding of a policy that validates.
	actions []admissionregistrationv1.ValidationAction
}

// ignoresFailure reports whether a write continues if the policy cannot be evaluated.
func (d *definition) ignoresFailure() bool {
	return d.failure != nil && *d.failure == admissionregistrationv1.Ignore
}

// get returns the policies in force.
func (c *configuration) get(ctx context.Context, state admission.Reader) (*configured, error) {
	if now := c.current.Load(); now.isCurrent() {
		return now, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.current.Load()
	if before.isCurrent() {
		return before, nil
	}
	now, err := c.read(ctx, state, before)
	if err == nil {
		c.current.Store(now)
	}
	return now, err
}

// isCurrent reports whether no policy or binding has changed since c was read. It is false for nil.
func (c *configured) isCurrent() bool {
	if c == nil {
		return false
	}
	for _, changed := range c.changed {
		select {
		case <-changed:
			return false
		default:
		}
	}
	return true
}

// read lists the policies and bindings. It reuses the compiled policies of before, which may be nil.
func (s *source) read(ctx context.Context, state admission.Reader, before *configured) (*configured, error) {
	follower, ok := state.(admission.Follower)
	if !ok {
		return nil, fmt.Errorf("%T does not report changes: policies need an admission.Follower", state)
	}
	c := &configured{byResource: map[string][]int{}}
	for _, resource := range []schema.GroupResource{s.policies, s.bindings} {
		changed, err := follower.Changes(resource) // before the lists, so that no change is missed
		if err != nil {
			return nil, err
		}
		c.changed = append(c.changed, changed)
	}
	bindings := map[string][]*binding{}
	if err := state.List(ctx, s.bindings, "", func(obj kind.Object) bool {
		if b := s.bind(obj); b != nil {
			bindings[b.policy] = append(bindings[b.policy], b)
		}
		return true
	}); err != nil {
		return nil, err
	}
	if err := state.List(ctx, s.policies, "", func(obj kind.Object) bool {
		if bound := bindings[obj.GetName()]; len(bound) > 0 {
			d := before.definitionOf(obj)
			if d == nil {
				d = s.define(obj)
			}
			if d != nil {
				c.policies = append(c.policies, &policy{d, bound})
			}
		}
		return true
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(c.policies, func(a, b *policy) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range c.policies {
		slices.SortFunc(p.bindings, func(a, b *binding) int { return strings.Compare(a.name, b.name) })
		c.index(i, p.match)
	}
	return c, nil
}

// definitionOf returns the definition in c, which may be nil, of a policy whose spec is unchanged. Otherwise it returns
// nil.
func (c *configured) definitionOf(p kind.Object) *definition {
	if c == nil {
		return nil
	}
	byName := func(o *policy, name string) int { return strings.Compare(o.Name, name) }
	i, found := slices.BinarySearchFunc(c.policies, p.GetName(), byName)
	if !found {
		return nil
	}
	if d := c.policies[i].definition; d.UID == p.GetUID() && d.Generation == p.GetGeneration() {
		return d
	}
	return nil
}

// index enters policy i under the resources of its rules.
func (c *configured) index(i int, m *matching.Criteria) {
	names := m.Resources()
	if names == nil {
		c.any = append(c.any, i)
	}
	for name := range names {
		c.byResource[name] = append(c.byResource[name], i)
	}
}

// candidates returns the policies that may match a write of a resource, ordered by name.
func (c *configured) candidates(resource string) iter.Seq[*policy] {
	return func(yield func(*policy) bool) {
		named, others := c.byResource[resource], c.any
		for len(named)+len(others) > 0 {
			next := &named
			if len(named) == 0 || len(others) > 0 && others[0] < named[0] {
				next = &others
			}
			if !yield(c.policies[(*next)[0]]) {
				return
			}
			*next = (*next)[1:]
		}
	}
}
