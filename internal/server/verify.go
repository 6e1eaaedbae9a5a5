package server

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// Problem is the category of a Finding.
type Problem string

// The problems that Verify finds.
const (
	// Damaged is an object that cannot be read: its bytes are not as they were written.
	Damaged Problem = "damaged"
	// Inconsistent is an object that is stored under a name, a uid or a revision that is not its own.
	Inconsistent Problem = "inconsistent"
	// NoOwner is an object with an owner that does not exist.
	NoOwner Problem = "no-owner"
	// NoNamespace is an object in a namespace that does not exist.
	NoNamespace Problem = "no-namespace"
	// NoDefinition is a custom resource without a definition, or in a version that the definition does not
	// have.
	NoDefinition Problem = "no-definition"
	// LostClaim is a value, such as a Service's address, whose owner does not have it, or has it without a
	// claim.
	LostClaim Problem = "lost-claim"
	// Invalid is an object that cannot be decoded, or breaks the rules or the schema of its kind.
	Invalid Problem = "invalid"
)

// Finding is a problem of a stored object.
type Finding struct {
	Key     object.Key
	Problem Problem
	Message string
}

// Verify checks a snapshot of the server's store, or of the store it was forked from. It yields the problems
// of each object in the order of their keys, damaged objects first: an object contradicts itself, refers to
// objects that do not exist, or is invalid. Verify changes nothing. When ctx ends, it yields the error of ctx
// and stops.
func (s *Server) Verify(ctx context.Context, snapshot *store.Snapshot) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		v := newVerification(ctx, s, snapshot)
		for _, damage := range s.store.Damaged() {
			if !yield(Finding{damage.Key, Damaged, damage.Err.Error()}, nil) {
				return
			}
		}
		for o := range snapshot.All() {
			if err := ctx.Err(); err != nil {
				yield(Finding{}, err)
				return
			}
			v.found = v.found[:0]
			v.object(o)
			for _, f := range v.found {
				if !yield(f, nil) {
					return
				}
			}
		}
	}
}

// verification is the check of one snapshot.
type verification struct {
	ctx      context.Context
	s        *Server
	snapshot *store.Snapshot
	uids     map[types.UID]bool
	// defined are the resources that have a definition.
	defined map[schema.GroupResource]bool
	// claimed maps the key of a claim to the object that uses its value.
	claimed map[object.Key]string
	found   []Finding
}

// newVerification collects what objects refer to.
func newVerification(ctx context.Context, s *Server, snapshot *store.Snapshot) *verification {
	v := &verification{ctx: ctx, s: s, snapshot: snapshot, uids: make(map[types.UID]bool, snapshot.Size()),
		defined: map[schema.GroupResource]bool{}, claimed: map[object.Key]string{}}
	for o := range snapshot.All() {
		v.uids[o.UID] = true
	}
	snapshot.Scan(object.Prefix(definitionsResource, ""), "", func(o *object.Object) bool {
		if crd, err := s.crds.definitionOf(o); err == nil {
			v.defined[resourceOf(crd)] = true
		}
		return true
	})
	for _, k := range s.kinds.Kinds() {
		if k.Info().Claims {
			v.collectClaims(k)
		}
	}
	return v
}

func (v *verification) collectClaims(k kind.Kind) {
	v.snapshot.Scan(object.Prefix(k.Info().GroupResource(), ""), "", func(o *object.Object) bool {
		if obj, err := decoded(k, o); err == nil {
			for _, c := range k.Claims(obj) {
				v.claimed[claimKey(c)] = obj.GetNamespace() + "/" + obj.GetName()
			}
		}
		return true
	})
}

func (v *verification) report(key object.Key, problem Problem, format string, values ...any) {
	v.found = append(v.found, Finding{key, problem, fmt.Sprintf(format, values...)})
}

// exists reports whether there is an object at a key, readable or not.
func (v *verification) exists(key object.Key) bool {
	return v.snapshot.Get(key) != nil || v.s.store.Damage(key) != nil
}

func (v *verification) object(o *object.Object) {
	gr := o.Key.GroupResource()
	if gr.Group == claimGroup {
		v.claim(o)
		return
	}
	if namespace := o.Key.Namespace(); namespace != "" && !v.exists(namespaceKey(namespace)) {
		v.report(o.Key, NoNamespace, "the namespace %s does not exist", namespace)
	}
	k, served := v.s.kinds.Stored(gr)
	if !served {
		if !v.defined[gr] { // if defined, the definition is not established or is being deleted
			v.report(o.Key, NoDefinition, "nothing defines %s", gr)
		}
		return
	}
	k, problem := inStored(k, o)
	if problem != "" {
		v.report(o.Key, NoDefinition, "%s", problem)
		return
	}
	obj, err := read(k, o)
	if err != nil {
		v.report(o.Key, Invalid, "%v", err)
		return
	}
	v.itself(o, obj)
	v.owners(o, obj)
	v.claims(k, o, obj)
	v.rules(k, o, obj)
}

func namespaceKey(name string) object.Key {
	return object.KeyOf(schema.GroupResource{Resource: "namespaces"}, "", name)
}

// inStored returns the kind in the version that an object is stored in, or the reason why there is none.
func inStored(k kind.Kind, o *object.Object) (kind.Kind, string) {
	versioned, ok := k.(kind.Custom)
	if !ok {
		return k, ""
	}
	version := o.Form().APIVersion
	if in := versioned.In(version); in != nil {
		return in, ""
	}
	return nil, "it is stored in " + version + ", which its definition does not have"
}

// itself compares an object with its header.
func (v *verification) itself(o *object.Object, obj kind.Object) {
	for _, c := range []struct{ what, is, stored string }{
		{"name", obj.GetName(), o.Key.Name()},
		{"namespace", obj.GetNamespace(), o.Key.Namespace()},
		{"uid", string(obj.GetUID()), string(o.UID)},
		{"resourceVersion", obj.GetResourceVersion(), o.Revision.String()},
	} {
		if c.is != c.stored {
			v.report(o.Key, Inconsistent, "its %s is %q, and it is stored as %q", c.what, c.is, c.stored)
		}
	}
}

// owners checks that the owners of an object exist.
func (v *verification) owners(o *object.Object, obj kind.Object) {
	for _, owner := range obj.GetOwnerReferences() {
		if !v.uids[owner.UID] && !v.mayBe(owner, o.Key.Namespace()) {
			v.report(o.Key, NoOwner, "its owner %s %s, with the uid %s, does not exist", owner.Kind, owner.Name,
				owner.UID)
		}
	}
}

// mayBe reports whether an owner may be an object that cannot be read, whose uid is unknown.
func (v *verification) mayBe(owner metav1.OwnerReference, namespace string) bool {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return false
	}
	k, ok := v.s.kindNamed(gv.WithKind(owner.Kind))
	if !ok {
		return false
	}
	if !k.Info().Namespaced {
		namespace = ""
	}
	return v.s.store.Damage(object.KeyOf(k.Info().GroupResource(), namespace, owner.Name)) != nil
}

// claim checks that the owner of a claim uses its value.
func (v *verification) claim(o *object.Object) {
	said := ownerOf(o)
	switch owner, ok := v.claimed[o.Key]; {
	case ok && owner == said:
	case ok:
		v.report(o.Key, LostClaim, "it belongs to %q by its record, and to %q by what that says", said, owner)
	case !v.mayOwn(said):
		v.report(o.Key, LostClaim, "its owner %q does not exist, or does not have it", said)
	}
}

// mayOwn reports whether the owner of a claim is an object that cannot be read.
func (v *verification) mayOwn(owner string) bool {
	namespace, name, _ := strings.Cut(owner, "/")
	return slices.ContainsFunc(v.s.kinds.Kinds(), func(k kind.Kind) bool {
		return k.Info().Claims && v.s.store.Damage(object.KeyOf(k.Info().GroupResource(), namespace, name)) != nil
	})
}

// claims checks that the values of an object are claimed.
func (v *verification) claims(k kind.Kind, o *object.Object, obj kind.Object) {
	if !k.Info().Claims {
		return
	}
	for _, c := range k.Claims(obj) {
		if !v.exists(claimKey(c)) {
			v.report(o.Key, LostClaim, "it has %s of %s without a claim: another may be given the same", c.Value,
				c.Space)
		}
	}
}

// rules validates an object: a built-in one as an update of itself, which allows values that are only invalid
// in a create; a custom resource as a create, since an update of itself may break its schema as before.
func (v *verification) rules(k kind.Kind, o *object.Object, obj kind.Object) {
	errs := validation.ValidateObjectMetaAccessorUpdate(obj, obj, metadataPath)
	var old kind.Object
	if k.Info().Builtin {
		old = obj.DeepCopyObject().(kind.Object)
	}
	errs = append(errs, k.Validate(v.ctx, obj, old, "")...)
	if len(errs) > 0 && v.ctx.Err() == nil {
		v.report(o.Key, Invalid, "%v", errs.ToAggregate())
	}
}
