package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/caller"
)

// hooks holds the webhooks of all configurations of one resource.
type hooks struct {
	ctx      context.Context
	log      *slog.Logger
	resource schema.GroupResource
	step     string // type label of the metrics
	counts   *metrics

	current atomic.Pointer[configured]
	mu      sync.Mutex // serializes re-reading of the configurations
}

// configured is the parsed state of all configurations.
type configured struct {
	// hooks is ordered by configuration name and by index within a configuration.
	hooks []*hook
	// from maps each configuration to its hooks.
	from map[kind.Object][]*hook
	// changed is closed when a configuration changes, which makes this value stale.
	changed <-chan struct{}
}

// configured returns the configured hooks, and reads the configurations if they changed since the last call.
func (h *hooks) configured(ctx context.Context, state admission.Reader) ([]*hook, error) {
	if c := h.cached(); c != nil {
		return c.hooks, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.cached(); c != nil {
		return c.hooks, nil
	}
	c, err := h.read(ctx, state, h.current.Load())
	if err != nil {
		return nil, err
	}
	h.current.Store(c)
	return c.hooks, nil
}

// cached returns the cached configurations, or nil if one of them changed since they were read.
func (h *hooks) cached() *configured {
	c := h.current.Load()
	if c == nil {
		return nil
	}
	select {
	case <-c.changed:
		return nil
	default:
		return c
	}
}

// read lists the configurations. It reuses the hooks, and with them the connections, of unchanged
// configurations.
func (h *hooks) read(ctx context.Context, state admission.Reader, before *configured) (*configured, error) {
	follower, ok := state.(admission.Follower)
	if !ok {
		return nil, fmt.Errorf("%T does not report changes: webhooks need an admission.Follower", state)
	}
	changed, err := follower.Changes(h.resource) // before the list, so that no change is missed
	if err != nil {
		return nil, err
	}
	c := &configured{from: map[kind.Object][]*hook{}, changed: changed}
	var configurations []kind.Object
	if err := state.List(ctx, h.resource, "", func(obj kind.Object) bool {
		configurations = append(configurations, obj)
		return true
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(configurations, func(a, b kind.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, obj := range configurations {
		own, known := before.hooksOf(obj)
		if !known {
			own = h.compile(obj, caller.ResolveServices(h.ctx, state))
		}
		c.from[obj] = own
		c.hooks = append(c.hooks, own...)
	}
	h.closeRemoved(before, c)
	return c, nil
}

// hooksOf returns the hooks compiled from a configuration. The Reader returns the same pointer until the
// configuration is written.
func (c *configured) hooksOf(obj kind.Object) (own []*hook, known bool) {
	if c == nil {
		return nil, false
	}
	own, known = c.from[obj]
	return own, known
}

// closeRemoved closes the connections of hooks that are not in next, and drops their metrics unless next has a hook
// of the same name.
func (h *hooks) closeRemoved(before, next *configured) {
	if before == nil {
		return
	}
	for obj, own := range before.from {
		if _, stays := next.from[obj]; stays {
			continue
		}
		for _, removed := range own {
			removed.caller.Close()
			if !slices.ContainsFunc(next.hooks, func(w *hook) bool { return w.Name == removed.Name }) {
				h.counts.remove(h.step, removed.Name)
			}
		}
	}
}

// compile creates the hooks of a configuration.
func (h *hooks) compile(obj kind.Object, resolve caller.Resolver) (own []*hook) {
	switch c := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			own = append(own, newHook(h.ctx, resolve, c.Name, i, &c.Webhooks[i]))
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			own = append(own, newHook(h.ctx, resolve, c.Name, i, &admissionregistrationv1.MutatingWebhook{
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
				MatchPolicy:       w.MatchPolicy,
				NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
				TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
				MatchConditions: w.MatchConditions,
			}))
		}
	}
	return own
}
