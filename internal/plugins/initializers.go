package plugins

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/admissionregistration/v1alpha1"
)

// Initializers implements the initializers of Kubernetes 1.13 (plugin/pkg/admission/initialization). It
// writes the names that InitializerConfigurations define for a resource into metadata.initializers.pending of
// new objects, ordered by the names of the configurations. The server hides such an object from ordinary
// reads until the list is empty. An update of an uninitialized object must leave the list as it is, remove
// its first entry, or remove the whole field; or set a result with a failure. docs/initializers.md lists the
// differences from Kubernetes.
//
// A configuration applies to creates after it was written. Parsed configurations are cached until one
// changes. Objects of the group admissionregistration.k8s.io are never initialized, because otherwise nobody
// could remove a configuration whose initializer is down.
type Initializers struct {
	current atomic.Pointer[configuredInitializers]
	mu      sync.Mutex // serializes re-reading of the configurations
}

var _ admission.Plugin = (*Initializers)(nil)

// configuredInitializers is the parsed state of all configurations.
type configuredInitializers struct {
	all []initializer
	// changed is closed when a configuration changes, which makes this value stale.
	changed <-chan struct{}
}

var (
	initializerConfigurations = v1alpha1.SchemeGroupVersion.WithResource("initializerconfigurations").GroupResource()
	initializersPath          = field.NewPath("metadata", "initializers")
)

// initialize is the authorization verb for writing an uninitialized object and for setting the initializers
// of a new one.
const initialize = "initialize"

// Name implements admission.Plugin.
func (*Initializers) Name() string { return initializersName }

// Handles implements admission.Plugin.
func (*Initializers) Handles(op admission.Operation, resource schema.GroupResource, subresource string) bool {
	return op != admission.Delete && subresource == "" && resource.Group != v1alpha1.SchemeGroupVersion.Group
}

// Admit implements admission.Plugin. It does nothing in round 1: the object already has its initializers.
func (p *Initializers) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	if a.Round > 0 || a.ServedKind != nil && !a.ServedKind.Info().Stored() {
		return nil
	}
	if a.Operation == admission.Update {
		if kind.HasInitializers(a.Old) || kind.HasInitializers(a.Object) {
			return mayInitialize(ctx, a, "update to uninitialized resource denied")
		}
		return nil
	}
	if kind.HasInitializers(a.Object) {
		return mayInitialize(ctx, a, "create with initializers denied")
	}
	all, err := p.configured(ctx, state)
	if err != nil {
		return err
	}
	if pending := pendingFor(all, a.Resource); pending != nil {
		kind.SetInitializers(a.Object, &kind.Initializers{Pending: pending})
	}
	return nil
}

// pendingFor returns the initializers that match a resource, without duplicates.
func pendingFor(all []initializer, resource schema.GroupVersionResource) (pending []kind.Initializer) {
	for n := range all {
		if i := &all[n]; i.matches(resource) && !slices.Contains(pending, i.entry) {
			pending = append(pending, i.entry)
		}
	}
	return pending
}

// mayInitialize returns an error unless the client has the verb initialize on the object.
func mayInitialize(ctx context.Context, a *admission.Attributes, what string) error {
	if a.Rights == nil {
		return nil
	}
	err := a.Rights.May(ctx, initialize)
	if apierrors.IsForbidden(err) {
		return a.Forbidden("%s: %v", what, err)
	}
	return err
}

// Validate implements admission.Plugin. It also checks changes that webhooks made.
func (*Initializers) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	is := kind.InitializersOf(a.Object)
	var errs field.ErrorList
	if a.Operation == admission.Create {
		errs = validateNew(is)
	} else {
		errs = validateUpdate(is, kind.InitializersOf(a.Old))
	}
	if len(errs) > 0 {
		return kind.NewInvalid(a.Kind.GroupKind(), a.Name, errs)
	}
	return nil
}

// maxPending is the maximum number of pending initializers of an object. Initializers act in sequence, while
// the creator waits.
const maxPending = 1000

// validateNew validates the initializers of a new object.
func validateNew(is *kind.Initializers) (errs field.ErrorList) {
	if is == nil {
		return nil
	}
	if n := len(is.Pending); n > maxPending {
		return field.ErrorList{field.TooMany(initializersPath.Child("pending"), n, maxPending)}
	}
	for i, p := range is.Pending {
		at := initializersPath.Child("pending").Index(i).Child("name")
		errs = append(errs, validation.IsFullyQualifiedName(at, p.Name)...)
		if slices.Contains(is.Pending[:i], p) {
			errs = append(errs, field.Duplicate(at, p.Name))
		}
	}
	if is.Result != nil {
		errs = append(errs, field.Forbidden(initializersPath.Child("result"),
			"may not be set on an object that is new"))
	}
	return errs
}

// validateUpdate validates the change that an update makes to the initializers.
func validateUpdate(is, was *kind.Initializers) (errs field.ErrorList) {
	switch {
	case is == nil:
		return nil
	case was == nil:
		return field.ErrorList{field.Invalid(initializersPath, is.Names(),
			"field is immutable once initialization has completed")}
	}
	if !slices.Equal(is.Pending, was.Pending) && !slices.Equal(is.Pending, was.Pending[min(1, len(was.Pending)):]) {
		errs = append(errs, field.Invalid(initializersPath.Child("pending"), is.Names(),
			"only the first pending initializer may be removed, or all of them with initializers set to null: pending are "+
				strings.Join(was.Names(), ", ")))
	}
	if r := is.Result; r != nil && r.Status != metav1.StatusFailure {
		errs = append(errs, field.Invalid(initializersPath.Child("result", "status"), r.Status, "must be 'Failure'"))
	}
	return errs
}

// initializer is one initializer of a configuration, with the rules that select its resources.
type initializer struct {
	entry kind.Initializer
	rules []v1alpha1.Rule
}

// matches reports whether one of the rules matches a resource.
func (i *initializer) matches(resource schema.GroupVersionResource) bool {
	for _, r := range i.rules {
		if matchesName(r.APIGroups, resource.Group) && matchesName(r.APIVersions, resource.Version) &&
			matchesName(r.Resources, resource.Resource) {
			return true
		}
	}
	return false
}

// matchesName reports whether a list of a rule contains a name or the wildcard.
func matchesName(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// configured returns the configured initializers, and reads the configurations if they changed since the last call.
func (p *Initializers) configured(ctx context.Context, state admission.Reader) ([]initializer, error) {
	if c := p.cached(); c != nil {
		return c.all, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.cached(); c != nil {
		return c.all, nil
	}
	c, err := readInitializers(ctx, state)
	if err != nil {
		return nil, err
	}
	p.current.Store(c)
	return c.all, nil
}

// cached returns the cached configurations, or nil if one of them changed since they were read.
func (p *Initializers) cached() *configuredInitializers {
	c := p.current.Load()
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

func readInitializers(ctx context.Context, state admission.Reader) (*configuredInitializers, error) {
	follower, ok := state.(admission.Follower)
	if !ok {
		return nil, fmt.Errorf("%T does not report changes: initializers need an admission.Follower", state)
	}
	changed, err := follower.Changes(initializerConfigurations) // before the list, so that no change is missed
	if err != nil {
		return nil, err
	}
	var found []*v1alpha1.InitializerConfiguration
	if err := state.List(ctx, initializerConfigurations, "", func(obj kind.Object) bool {
		if c, ok := obj.(*v1alpha1.InitializerConfiguration); ok {
			found = append(found, c)
		}
		return true
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b *v1alpha1.InitializerConfiguration) int { return strings.Compare(a.Name, b.Name) })
	out := &configuredInitializers{changed: changed}
	for _, c := range found {
		for _, i := range c.Initializers {
			out.all = append(out.all, initializer{kind.Initializer{Name: i.Name}, i.Rules})
		}
	}
	return out, nil
}
