package operations

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
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/claim"
	"github.com/bowline-dev/bowline/internal/server/stored"
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
	// LostClaim is a claim of a value, such as a Service's address, whose recorded owner does not use the value, or
	// a used value without a claim.
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

// Verifier checks the objects of a server's store.
type Verifier struct {
	Store       *store.Store
	Kinds       *kind.Registry
	Definitions Definitions
}

// Definitions reads CustomResourceDefinitions.
type Definitions interface {
	// ResourceOf returns the resource of the instances of a stored definition.
	ResourceOf(*object.Object) (schema.GroupResource, error)
}

// Verify checks a snapshot of the server's store, or of the store it was forked from. It yields the problems of each
// object in the order of their keys, damaged objects first: an object contradicts itself, refers to objects that do not
// exist, or is invalid. Verify changes nothing. When ctx ends, it yields the error of ctx and stops.
func (v *Verifier) Verify(ctx context.Context, snapshot *store.Snapshot) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		run := newVerification(ctx, v, snapshot)
		for _, damage := range v.Store.Damaged() {
			if !yield(Finding{damage.Key, Damaged, damage.Err.Error()}, nil) {
				return
			}
		}
		for o := range snapshot.All() {
			if err := ctx.Err(); err != nil {
				yield(Finding{}, err)
				return
			}
			run.found = run.found[:0]
			if o.Key.GroupResource().Group != claim.Group {
				run.checkObject(o)
			}
			if claim.Is(o) {
				run.checkClaim(o)
			}
			for _, f := range run.found {
				if !yield(f, nil) {
					return
				}
			}
		}
	}
}

// verification is the check of one snapshot.
type verification struct {
	*Verifier
	claims   claim.Claims
	ctx      context.Context
	snapshot *store.Snapshot
	uids     map[types.UID]bool
	// defined are the resources that have a definition.
	defined map[schema.GroupResource]bool
	// claimed maps the key of a claim to the namespace, a slash and the name of the object that uses its value.
	claimed map[object.Key]string
	found   []Finding // the problems of one object
}

// newVerification collects the uids, definitions and claimed values that objects may refer to.
func newVerification(ctx context.Context, verifier *Verifier, snapshot *store.Snapshot) *verification {
	v := &verification{Verifier: verifier, claims: claim.Claims{Store: verifier.Store, Kinds: verifier.Kinds},
		ctx: ctx, snapshot: snapshot,
		uids:    make(map[types.UID]bool, snapshot.Size()),
		defined: map[schema.GroupResource]bool{}, claimed: map[object.Key]string{}}
	for o := range snapshot.All() {
		v.uids[o.UID] = true
	}
	snapshot.Scan(object.Prefix(stored.Definitions, ""), "", func(o *object.Object) bool {
		if gr, err := v.Definitions.ResourceOf(o); err == nil {
			v.defined[gr] = true
		}
		return true
	})
	for _, k := range v.Kinds.Kinds() {
		if !k.Info().Claims {
			continue
		}
		snapshot.Scan(object.Prefix(k.Info().GroupResource(), ""), "", func(o *object.Object) bool {
			if obj, err := stored.Decode(k, o); err == nil {
				for _, c := range k.Claims(obj) {
					for _, key := range v.claims.Keys(c) {
						v.claimed[key] = obj.GetNamespace() + "/" + obj.GetName()
					}
				}
			}
			return true
		})
	}
	return v
}

// checkObject checks an object that is not a hidden record: its namespace, its definition, its header, its owners, its
// claims and the rules of its kind.
func (v *verification) checkObject(o *object.Object) {
	gr := o.Key.GroupResource()
	if namespace := o.Key.Namespace(); namespace != "" && !v.exists(object.KeyOf(stored.Namespaces, "", namespace)) {
		v.report(o.Key, NoNamespace, "the namespace %s does not exist", namespace)
	}
	k, served := v.Kinds.Stored(gr)
	if !served {
		if !v.defined[gr] { // if defined, the definition is not established or is being deleted
			v.report(o.Key, NoDefinition, "nothing defines %s", gr)
		}
		return
	}
	if custom, ok := k.(kind.Custom); ok {
		version := o.Form().APIVersion
		if k = custom.In(version); k == nil {
			v.report(o.Key, NoDefinition, "it is stored in %s, which its definition does not have", version)
			return
		}
	}
	obj, err := stored.Read(k, o)
	if err != nil {
		v.report(o.Key, Invalid, "%v", err)
		return
	}
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
	for _, owner := range obj.GetOwnerReferences() {
		if !v.uids[owner.UID] && !v.ownerDamaged(owner, o.Key.Namespace()) {
			v.report(o.Key, NoOwner, "its owner %s %s, with the uid %s, does not exist", owner.Kind, owner.Name,
				owner.UID)
		}
	}
	if k.Info().Claims {
		for _, c := range k.Claims(obj) {
			if !slices.ContainsFunc(v.claims.Keys(c), v.exists) {
				v.report(o.Key, LostClaim,
					"it uses %s of %s without a claim, so another object may be assigned the same value", c.Value,
					c.Space)
			}
		}
	}
	// A built-in object is validated as an update of itself, which allows values that are only invalid in a create; a
	// custom resource as a create, since an update may leave invalid what was invalid before.
	if errs := v.validate(k, obj); len(errs) > 0 && v.ctx.Err() == nil {
		listed, more := kind.LimitErrors(errs)
		text := listed.ToAggregate().Error()
		if more > 0 {
			text += fmt.Sprintf(", and %d more errors", more)
		}
		v.report(o.Key, Invalid, "%s", text)
	}
}

// validate applies the rules of a kind. Rules rely on the defaults that every write sets, and panic if a tampered
// object lacks them.
func (v *verification) validate(k kind.Kind, obj kind.Object) (errs field.ErrorList) {
	defer func() {
		if reason := recover(); reason != nil {
			errs = field.ErrorList{field.InternalError(nil,
				fmt.Errorf("its rules panic, so no server wrote it: %v", reason))}
		}
	}()
	errs = validation.ValidateObjectMetaAccessorUpdate(obj, obj, field.NewPath("metadata"))
	var old kind.Object
	if k.Info().Builtin {
		old = obj.DeepCopyObject().(kind.Object)
	}
	return append(errs, k.Validate(v.ctx, obj, old, "")...)
}

// checkClaim checks that the owner of a claim uses its value. The owner may be an object that cannot be read. An
// IPAddress that a user made is only a claim if a service uses its address.
func (v *verification) checkClaim(o *object.Object) {
	recorded := v.claims.Owner(o)
	switch owner, ok := v.claimed[o.Key]; {
	case ok && owner == recorded, !ok && !claim.Managed(o):
		return
	case ok:
		v.report(o.Key, LostClaim, "its claim is recorded for %q, but %q uses the value", recorded, owner)
		return
	}
	namespace, name, _ := strings.Cut(recorded, "/")
	if !slices.ContainsFunc(v.Kinds.Kinds(), func(k kind.Kind) bool {
		return k.Info().Claims && v.Store.Damage(object.KeyOf(k.Info().GroupResource(), namespace, name)) != nil
	}) {
		v.report(o.Key, LostClaim, "its owner %q does not exist, or does not have it", recorded)
	}
}

// ownerDamaged reports whether an owner is an object that cannot be read, whose uid is unknown.
func (v *verification) ownerDamaged(owner metav1.OwnerReference, namespace string) bool {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return false
	}
	k, ok := stored.Named(v.Kinds.Kinds(), gv.WithKind(owner.Kind))
	if !ok {
		return false
	}
	if !k.Info().Namespaced {
		namespace = ""
	}
	return v.Store.Damage(object.KeyOf(k.Info().GroupResource(), namespace, owner.Name)) != nil
}

// exists reports whether there is an object at a key, readable or not.
func (v *verification) exists(key object.Key) bool {
	return v.snapshot.Get(key) != nil || v.Store.Damage(key) != nil
}

func (v *verification) report(key object.Key, problem Problem, format string, values ...any) {
	v.found = append(v.found, Finding{key, problem, fmt.Sprintf(format, values...)})
}
