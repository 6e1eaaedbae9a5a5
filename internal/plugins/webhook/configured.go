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

// hooks are the webhooks of all configurations of one resource, as of now.
type hooks struct {
	ctx      context.Context
	log      *slog.Logger
	resource schema.GroupResource
	step     string // of admission, as it is counted
	counts   *metrics

	current atomic.Pointer[configured]
	mu      sync.Mutex // orders reading the configurations anew
}

// configured is what stood in the configurations when they were read.
type configured struct {
	// hooks are in the order in which they are asked.
	hooks []*hook
	// from are the hooks of each configuration.
	from map[kind.Object][]*hook
	// changed is closed when this is no longer true.
	changed <-chan struct{}
}

// now are the hooks as the configurations say. It costs nothing while those stay as they are.
func (h *hooks) now(ctx context.Context, state admission.Reader) ([]*hook, error) {
	if c := h.fresh(); c != nil {
		return c.hooks, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.fresh(); c != nil {
		return c.hooks, nil
	}
	c, err := h.read(ctx, state, h.current.Load())
	if err != nil {
		return nil, err
	}
	h.current.Store(c)
	return c.hooks, nil
}

// fresh is what was read, nil when that has changed.
func (h *hooks) fresh() *configured {
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

// read reads the configurations. The hooks of those that are as before stay, with their connections.
func (h *hooks) read(ctx context.Context, state admission.Reader, before *configured) (*configured, error) {
	follower, ok := state.(admission.Follower)
	if !ok {
		return nil, fmt.Errorf("%T does not tell of changes: webhooks need an admission.Follower", state)
	}
	changed, err := follower.Changes(h.resource) // before reading: nothing is missed
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
			own = h.compile(obj, caller.Find(h.ctx, state))
		}
		c.from[obj] = own
		c.hooks = append(c.hooks, own...)
	}
	h.letGo(before, c)
	return c, nil
}

// hooksOf are the hooks that were made of a configuration, which is the same object while nobody writes it.
func (c *configured) hooksOf(obj kind.Object) (own []*hook, known bool) {
	if c == nil {
		return nil, false
	}
	own, known = c.from[obj]
	return own, known
}

// letGo lets go of the connections of the hooks that are no longer in the next state, and of what was counted of those whose
// names are not there either.
func (h *hooks) letGo(before, next *configured) {
	if before == nil {
		return
	}
	for obj, own := range before.from {
		if _, stays := next.from[obj]; stays {
			continue
		}
		for _, gone := range own {
			gone.caller.Close()
			if !slices.ContainsFunc(next.hooks, func(w *hook) bool { return w.Name == gone.Name }) {
				h.counts.forget(h.step, gone.Name)
			}
		}
	}
}

// compile makes the hooks of a configuration.
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
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
				NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
				TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
			}))
		}
	}
	return own
}
