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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// configuration is the policies in force. It is read when it is first used, and again after a change.
type configuration struct {
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

// definition is the parsed spec of a policy.
type definition struct {
	*admissionregistrationv1.ValidatingAdmissionPolicy
	match *matching.Criteria
	// compiled compiles the expressions on first use.
	compiled func() *compiled
}

// binding is a parsed binding.
type binding struct {
	*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	match *matching.Criteria
}

// ignoresFailure reports whether a write continues if the policy cannot be evaluated.
func (d *definition) ignoresFailure() bool {
	return d.Spec.FailurePolicy != nil && *d.Spec.FailurePolicy == admissionregistrationv1.Ignore
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
	now, err := read(ctx, state, before)
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
func read(ctx context.Context, state admission.Reader, before *configured) (*configured, error) {
	follower, ok := state.(admission.Follower)
	if !ok {
		return nil, fmt.Errorf("%T does not report changes: policies need an admission.Follower", state)
	}
	c := &configured{byResource: map[string][]int{}}
	for _, resource := range []schema.GroupResource{validatingPolicies, validatingBindings} {
		changed, err := follower.Changes(resource) // before the lists, so that no change is missed
		if err != nil {
			return nil, err
		}
		c.changed = append(c.changed, changed)
	}
	bindings := map[string][]*binding{}
	if err := state.List(ctx, validatingBindings, "", func(obj kind.Object) bool {
		if b, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding); ok {
			name := b.Spec.PolicyName
			bindings[name] = append(bindings[name], &binding{b, matching.New(b.Spec.MatchResources)})
		}
		return true
	}); err != nil {
		return nil, err
	}
	if err := state.List(ctx, validatingPolicies, "", func(obj kind.Object) bool {
		p, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy)
		if ok && len(bindings[p.Name]) > 0 {
			c.policies = append(c.policies, &policy{before.definitionOf(p), bindings[p.Name]})
		}
		return true
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(c.policies, func(a, b *policy) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range c.policies {
		slices.SortFunc(p.bindings, func(a, b *binding) int { return strings.Compare(a.Name, b.Name) })
		c.index(i, p.match)
	}
	return c, nil
}

// definitionOf returns the definition of a policy. It is the one of c, which may be nil, if the spec is unchanged.
func (c *configured) definitionOf(p *admissionregistrationv1.ValidatingAdmissionPolicy) *definition {
	if c != nil {
		byName := func(o *policy, name string) int { return strings.Compare(o.Name, name) }
		if i, found := slices.BinarySearchFunc(c.policies, p.Name, byName); found {
			if d := c.policies[i].definition; d.UID == p.UID && d.Generation == p.Generation {
				return d
			}
		}
	}
	compiled := sync.OnceValue(func() *compiled { return compile(&p.Spec) })
	return &definition{p, matching.New(p.Spec.MatchConstraints), compiled}
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
