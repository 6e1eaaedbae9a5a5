package write

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/patch/ownership"
)

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

// ownedKind is the ownership of one kind. It is valid as long as the registry has that kind: a changed definition
// replaces it.
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
	if len(is) != len(was) {
		return
	}
	later := false
	for i, a := range is {
		b := was[i]
		later = later || !a.Time.Equal(b.Time)
		a.Time, b.Time = nil, nil
		if !sameEntry(a, b) {
			return
		}
	}
	if !later {
		return
	}
	ownership.SetEntries(obj, was)
	if !equality.Semantic.DeepEqual(obj, old) {
		ownership.SetEntries(obj, is)
	}
}
