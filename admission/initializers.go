package admission

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

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/admissionregistration/v1alpha1"
)

// Initializers has new objects initialized by whom InitializerConfigurations name: their names go into
// metadata.initializers.pending, in the order of the configurations' names, and the server shows the object to nobody until they
// are gone. Each update of such an object must leave the names as they are, take away the first, or end it all; or set a result,
// a failure. It follows the plugin of this name in Kubernetes 1.13 (plugin/pkg/admission/initialization); docs/initializers.md
// says where it does not.
//
// Configurations take effect for the creates that follow, and cost nothing while they stay as they are. Nobody initializes them,
// nor those of webhooks: an initializer that is down could not be removed.
type Initializers struct {
	current atomic.Pointer[configuredInitializers]
	mu      sync.Mutex // orders reading the configurations anew
}

var _ Plugin = (*Initializers)(nil)

// configuredInitializers is what stood in the configurations when they were read.
type configuredInitializers struct {
	all []initializer
	// changed is closed when this is no longer true.
	changed <-chan struct{}
}

var (
	initializerConfigurations = v1alpha1.SchemeGroupVersion.WithResource("initializerconfigurations").GroupResource()
	initializersPath          = field.NewPath("metadata", "initializers")
)

// initialize is the verb that lets somebody write an object that is not initialized, or say who initializes a new one.
const initialize = "initialize"

// Name implements Plugin.
func (*Initializers) Name() string { return "Initializers" }

// Handles implements Plugin.
func (*Initializers) Handles(op Operation, resource schema.GroupResource, subresource string) bool {
	return op != Delete && subresource == "" && resource.Group != v1alpha1.SchemeGroupVersion.Group
}

// Admit implements Plugin. What webhooks had others look at again has its initializers already.
func (p *Initializers) Admit(ctx context.Context, a *Attributes, state Reader) error {
	if a.Round > 0 {
		return nil
	}
	if a.Operation == Update {
		if kind.SaysInitializers(a.Old) || kind.SaysInitializers(a.Object) {
			return a.mayInitialize(ctx, "update to uninitialized resource denied")
		}
		return nil
	}
	if kind.SaysInitializers(a.Object) {
		return a.mayInitialize(ctx, "create with initializers denied")
	}
	all, err := p.now(ctx, state)
	if err != nil {
		return err
	}
	if pending := pendingFor(all, a.Resource); pending != nil {
		kind.SetInitializers(a.Object, &kind.Initializers{Pending: pending})
	}
	return nil
}

// pendingFor are those of all initializers that are for a resource, each once.
func pendingFor(all []initializer, resource schema.GroupVersionResource) (pending []kind.Initializer) {
	for n := range all {
		if i := &all[n]; i.isFor(resource) && !slices.Contains(pending, i.entry) {
			pending = append(pending, i.entry)
		}
	}
	return pending
}

// mayInitialize refuses who may not.
func (a *Attributes) mayInitialize(ctx context.Context, what string) error {
	if a.Rights == nil {
		return nil
	}
	err := a.Rights.May(ctx, initialize)
	if apierrors.IsForbidden(err) {
		return a.Forbidden("%s: %v", what, err)
	}
	return err
}

// Validate implements Plugin. It also judges what webhooks made of it.
func (*Initializers) Validate(_ context.Context, a *Attributes, _ Reader) error {
	is := kind.InitializersOf(a.Object)
	var errs field.ErrorList
	if a.Operation == Create {
		errs = newInitializers(is)
	} else {
		errs = nextInitializers(is, kind.InitializersOf(a.Old))
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(a.Kind.GroupKind(), a.Name, errs)
	}
	return nil
}

// mostPending is how many may have to act on an object: one after the other, in the time that its creator waits.
const mostPending = 1000

// newInitializers says what is wrong with those of a new object.
func newInitializers(is *kind.Initializers) (errs field.ErrorList) {
	if is == nil {
		return nil
	}
	if n := len(is.Pending); n > mostPending {
		return field.ErrorList{field.TooMany(initializersPath.Child("pending"), n, mostPending)}
	}
	for i, p := range is.Pending {
		at := initializersPath.Child("pending").Index(i).Child("name")
		errs = append(errs, validation.IsFullyQualifiedName(at, p.Name)...)
		if slices.Contains(is.Pending[:i], p) {
			errs = append(errs, field.Duplicate(at, p.Name))
		}
	}
	if is.Result != nil {
		errs = append(errs, field.Forbidden(initializersPath.Child("result"), "may not be set on an object that is new"))
	}
	return errs
}

// nextInitializers says what is wrong with what an update makes of them.
func nextInitializers(is, was *kind.Initializers) (errs field.ErrorList) {
	switch {
	case is == nil:
		return nil
	case was == nil:
		return field.ErrorList{field.Invalid(initializersPath, is.Names(), "field is immutable once initialization has completed")}
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

// initializer is who acts on new objects of some resources.
type initializer struct {
	entry kind.Initializer
	rules []v1alpha1.Rule
}

// isFor says whether one of the rules matches.
func (i *initializer) isFor(resource schema.GroupVersionResource) bool {
	for _, r := range i.rules {
		if names(r.APIGroups, resource.Group) && names(r.APIVersions, resource.Version) && names(r.Resources, resource.Resource) {
			return true
		}
	}
	return false
}

// names says whether a list of a rule has a name, or all.
func names(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// now are the initializers as the configurations say.
func (p *Initializers) now(ctx context.Context, state Reader) ([]initializer, error) {
	if c := p.fresh(); c != nil {
		return c.all, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.fresh(); c != nil {
		return c.all, nil
	}
	c, err := readInitializers(ctx, state)
	if err != nil {
		return nil, err
	}
	p.current.Store(c)
	return c.all, nil
}

// fresh is what was read, nil when that has changed.
func (p *Initializers) fresh() *configuredInitializers {
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

func readInitializers(ctx context.Context, state Reader) (*configuredInitializers, error) {
	follower, ok := state.(Follower)
	if !ok {
		return nil, fmt.Errorf("%T does not tell of changes: initializers need an admission.Follower", state)
	}
	changed, err := follower.Changes(initializerConfigurations) // before reading: nothing is missed
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
