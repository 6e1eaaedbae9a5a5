package server

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/patch/ownership"
)

// own is the stage that records which manager set which field (metadata.managedFields): the request's manager
// becomes the owner of the fields in which obj differs from old. old is nil for a create.
func (s *Server) own(c *call, o writeOptions, obj, old kind.Object) {
	if o.owned {
		return
	}
	defer beside(obj, old)()
	s.owners.of(c.kind, c.endpoint).Update(c.endpoint.APIVersion(), c.subresource, old, obj, o.manager)
}

// ownView writes what next makes of a subresource's view into the object, with its ownership. next receives
// the view with the ownership of the fields that it shows. If o.owned is set, next has already set the
// ownership of the result.
func (s *Server) ownView(c *call, o writeOptions, current kind.Object,
	next func(view kind.Object) (runtime.Object, error)) (kind.Object, error) {
	shown, err := c.sub.View(current)
	if err != nil {
		return nil, err
	}
	view := shown.(kind.Object)
	view.GetObjectKind().SetGroupVersionKind(c.sub.Kind)
	scaling, err := ownership.Scaling(c.kind, c.sub, c.endpoint.APIVersion(), current.GetManagedFields())
	if err != nil {
		return nil, err
	}
	if entries, err := scaling.ToSubresource(); err == nil {
		view.SetManagedFields(entries)
	}
	body, err := next(view)
	if err != nil {
		return nil, err
	}
	written := body.(kind.Object)
	written.GetObjectKind().SetGroupVersionKind(c.sub.Kind)
	if !o.owned {
		s.owners.ofView(c.sub).Update(c.sub.Kind.GroupVersion().String(), c.subresource, view, written, o.manager)
	}
	obj, err := c.applied(current, body)
	if err != nil {
		return nil, err
	}
	if entries, err := scaling.ToParent(written.GetManagedFields()); err == nil { // an error preserves the ownership
		obj.SetManagedFields(entries)
	}
	return obj, nil
}

// managerOf derives the name of a manager from a User-Agent header: the printable characters before the first
// slash, up to the maximum length of a manager's name.
func managerOf(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	var out strings.Builder
	for _, r := range name {
		if !unicode.IsPrint(r) {
			continue
		}
		if out.Len()+utf8.RuneLen(r) > metavalidation.FieldManagerMaxLength {
			break
		}
		out.WriteRune(r)
	}
	return out.String()
}

// owners caches the ownership of each kind that was written, in each version that it was written in.
type owners struct {
	mu    sync.RWMutex
	made  map[ownedVersion]ownedKind
	views map[schema.GroupVersionKind]*ownership.Owners
}

type ownedVersion struct {
	resource   schema.GroupResource
	apiVersion string
}

// ownedKind is the ownership of one kind. It is valid as long as the registry has that kind: a changed
// definition replaces it.
type ownedKind struct {
	kind   kind.Kind
	owners *ownership.Owners
}

// of returns the ownership of a kind in a version. It creates it on first use.
func (o *owners) of(k kind.Kind, e *kind.Endpoint) *ownership.Owners {
	key := ownedVersion{k.Info().GroupResource(), e.APIVersion()}
	o.mu.RLock()
	have, ok := o.made[key]
	o.mu.RUnlock()
	if ok && have.kind == k {
		return have.owners
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if have, ok := o.made[key]; ok && have.kind == k {
		return have.owners
	}
	if o.made == nil {
		o.made = map[ownedVersion]ownedKind{}
	}
	fresh := ownership.New(k)
	o.made[key] = ownedKind{k, fresh}
	return fresh
}

// ofView returns the ownership of a subresource that has its own kind. It creates it on first use.
func (o *owners) ofView(sub *kind.Subresource) *ownership.Owners {
	o.mu.Lock()
	defer o.mu.Unlock()
	have, ok := o.views[sub.Kind]
	if !ok {
		have = ownership.NewView(sub)
		if o.views == nil {
			o.views = map[schema.GroupVersionKind]*ownership.Owners{}
		}
		o.views[sub.Kind] = have
	}
	return have
}

// forget removes the entries of a resource that is no longer served.
func (o *owners) forget(gr schema.GroupResource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.made {
		if key.resource == gr {
			delete(o.made, key)
		}
	}
}

// keepTimes gives obj the ownership of old if they differ only in its timestamps. A write whose changes were
// undone, or were equivalent, must not change the object.
func keepTimes(obj, old kind.Object) {
	is, was := ownership.Entries(obj), ownership.Entries(old)
	if len(is) == 0 || !slices.EqualFunc(is, was, sameButTime) || slices.EqualFunc(is, was, sameTime) {
		return
	}
	ownership.SetEntries(obj, was)
	if !equality.Semantic.DeepEqual(obj, old) {
		ownership.SetEntries(obj, is)
	}
}

func sameTime(a, b metav1.ManagedFieldsEntry) bool { return a.Time.Equal(b.Time) }

func sameButTime(a, b metav1.ManagedFieldsEntry) bool {
	a.Time, b.Time = nil, nil
	return sameEntry(a, b)
}

// readableOwnership restores the ownership from before admission if plugins left one that cannot be parsed.
func (c *call) readableOwnership(obj kind.Object, before ownershipSeen) {
	if before.stillOf(obj) {
		return
	}
	if err := ownership.ValidateEntries(obj.GetManagedFields()); err != nil {
		before.restore(obj)
		c.warn(".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating " +
			"admission controller; please fix your requests: " + err.Error())
	}
}
