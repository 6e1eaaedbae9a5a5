package policy

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch/ownership"
)

// applier is the manager that applies an apply configuration. It owns no field before, and what it owns after is not
// stored.
const applier = "policy"

// merge applies the apply configuration that an expression has returned to the object of a subject. It returns nil if
// that changes nothing. It is a server-side apply, and has its limits, except that the owners of fields do not change.
func (w *mutated) merge(s *subject, v ref.Val) ([]byte, error) {
	o, ok := v.(*objectValue)
	if !ok {
		return nil, fmt.Errorf("unsupported return type from ApplyConfiguration expression: %v", v.Type())
	}
	converted, err := newConverter(maxDocument).convert(o, []string{"Object"})
	if err != nil {
		return nil, err
	}
	document := &unstructured.Unstructured{Object: converted.(map[string]any)}
	document.SetGroupVersionKind(s.of.Kind)
	live, ok := s.of.Now.(kind.Object)
	if !ok {
		return nil, fmt.Errorf("error applying patch: %T has no metadata", s.of.Now)
	}
	merged, err := w.owners.apply(s, live, document)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	if merged == nil {
		return nil, nil
	}
	return kind.Marshal(object.JSON, merged)
}

// owners caches the ownership of the kinds whose objects were mutated, which knows the types of their fields.
type owners struct {
	mu   sync.Mutex
	made map[ownedVersion]ownedKind
}

// maxOwned is the maximum number of kinds in owners, which drops all kinds to add another one.
const maxOwned = 1_000

// ownedVersion is a kind in the version that a policy matches, and the version of the request.
type ownedVersion struct {
	matched   schema.GroupVersionKind
	requested string
}

// ownedKind is an entry of the cache. It is outdated if the kind's definition has changed since.
type ownedKind struct {
	kind kind.Kind
	*ownership.Owners
}

// of returns the ownership of a subject's kind. It creates it on first use.
func (o *owners) of(s *subject) *ownership.Owners {
	o.mu.Lock()
	defer o.mu.Unlock()
	served := s.of.Write.ServedKind
	key := ownedVersion{s.of.Kind, s.of.Write.Kind.Version}
	have := o.made[key]
	if have.Owners == nil || have.kind != served {
		have = ownedKind{served, ownership.New(served)}
		if s.of.View != nil {
			have.Owners = ownership.NewView(s.of.View)
		}
		if o.made == nil || len(o.made) >= maxOwned {
			o.made = map[ownedVersion]ownedKind{}
		}
		o.made[key] = have
	}
	return have.Owners
}

// apply returns live with a document merged into it, or nil if that changes nothing.
func (o *owners) apply(s *subject, live kind.Object, document *unstructured.Unstructured) (kind.Object, error) {
	sub := s.of.Write.Subresource
	if s.of.View != nil {
		sub = ""
	}
	if meta, ok := document.Object["metadata"].(map[string]any); ok && meta["managedFields"] != nil {
		return nil, errAtomic(".metadata.managedFields")
	}
	applied := document.DeepCopy() // Apply may modify it
	entries, revision := ownership.Entries(live), live.GetResourceVersion()
	ownership.SetEntries(live, nil)
	live.SetResourceVersion("") // Apply caches results by revision, and the write changes the content of this one
	restore := func(obj kind.Object) {
		ownership.SetEntries(obj, entries)
		obj.SetResourceVersion(revision)
	}
	defer restore(live)
	result, err := o.of(s).Apply(s.of.Kind.GroupVersion().String(), sub, live, applied, nil, applier, true)
	if err != nil {
		return nil, inPatch(err, document)
	}
	merged, ok := result.(kind.Object)
	if !ok {
		return nil, fmt.Errorf("the result is a %T", result)
	}
	changed := isUnstructured(merged) && merged != live
	if err := checkAtomics(document, live, merged); err != nil {
		return nil, err
	}
	if !changed {
		return nil, nil
	}
	restore(merged)
	return merged, nil
}

func isUnstructured(obj runtime.Object) bool {
	_, ok := obj.(*unstructured.Unstructured)
	return ok
}

// inPatch returns an error of a server-side apply as Kubernetes words it for mutations.
func inPatch(err error, document *unstructured.Unstructured) error {
	prefix := fmt.Sprintf("failed to create typed patch object (%s/%s; %s): ", document.GetNamespace(),
		document.GetName(), document.GroupVersionKind())
	if rest, ok := strings.CutPrefix(err.Error(), prefix); ok {
		return errors.New("failed to convert patch object to typed object: " + rest)
	}
	return fmt.Errorf("failed to merge patch: %v", err) // not a Status: the failure policy decides
}
