package plugins

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// ProtectOwners lets only clients that may delete an object change its owners, because the garbage collector deletes it
// with them, and only clients that may update the finalizers of an owner set blockOwnerDeletion, which delays its
// deletion (Kubernetes' OwnerReferencesPermissionEnforcement). It is off by default.
type ProtectOwners struct {
	// Kinds finds the resources of owners. If it is nil, the plugin knows no kind.
	Kinds *kind.Registry
}

// Name implements admission.Plugin.
func (ProtectOwners) Name() string { return "OwnerReferencesPermissionEnforcement" }

// Handles implements admission.Plugin. The status of a pod cannot change its owners.
func (ProtectOwners) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return (op == admission.Create || op == admission.Update) && (resource != pods || sub != "status")
}

// Admit implements admission.Plugin.
func (ProtectOwners) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin.
func (p ProtectOwners) Validate(ctx context.Context, a *admission.Attributes, _ admission.Reader) error {
	if a.Object == nil {
		return nil
	}
	owners := a.Object.GetOwnerReferences()
	var before []metav1.OwnerReference
	if a.Old != nil {
		before = a.Old.GetOwnerReferences()
	}
	if slices.EqualFunc(owners, before, sameOwner) {
		return nil
	}
	client, by := clientOf(a), matching.AuthorizerOf(a)
	if a.Operation != admission.Create {
		decision, reason, err := by.Authorize(ctx, authorizer.AttributesRecord{
			User: client, Verb: "delete", Namespace: a.Namespace, APIGroup: a.Resource.Group, APIVersion: a.Resource.Version,
			Resource: a.Resource.Resource, Subresource: a.Subresource, Name: a.Name, ResourceRequest: true,
		})
		if decision != authorizer.DecisionAllow {
			return a.Forbidden("cannot set an ownerRef on a resource you can't delete: %v, %v", reason, err)
		}
	}
	blocked := newlyBlocked(owners, before)
	if len(blocked) == 0 {
		return nil
	}
	finalizers := authorizer.AttributesRecord{User: client, Verb: "update", APIGroup: "*", APIVersion: "*", Resource: "*",
		Subresource: "finalizers", Name: "*", ResourceRequest: true}
	if decision, _, _ := by.Authorize(ctx, finalizers); decision == authorizer.DecisionAllow {
		return nil // on everything
	}
	resources := map[schema.GroupVersionKind]ownerResource{}
	for _, owner := range blocked {
		if err := ctx.Err(); err != nil {
			return err
		}
		gvk, err := ownerKind(owner)
		resource, known := resources[gvk]
		if err == nil && !known {
			resource, err = p.resourceOf(gvk)
			resources[gvk] = resource
		}
		if err != nil {
			return a.Forbidden("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %s "+
				"Kind %s: %v", owner.APIVersion, owner.Kind, err)
		}
		finalizers.APIGroup, finalizers.APIVersion, finalizers.Resource = gvk.Group, gvk.Version, resource.plural
		finalizers.Name, finalizers.Namespace = owner.Name, ""
		if resource.namespaced {
			finalizers.Namespace = a.Namespace
		}
		if decision, reason, err := by.Authorize(ctx, finalizers); decision != authorizer.DecisionAllow {
			return a.Forbidden("cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set "+
				"finalizers on: %v, %v", reason, err)
		}
	}
	return nil
}

// sameOwner reports whether two references are equal.
func sameOwner(a, b metav1.OwnerReference) bool {
	same := func(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }
	return a.UID == b.UID && a.Name == b.Name && a.Kind == b.Kind && a.APIVersion == b.APIVersion &&
		same(a.Controller, b.Controller) && same(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}

func blocksDeletion(owner metav1.OwnerReference) bool {
	return owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion
}

// newlyBlocked returns the owners whose deletion a reference blocks that did not block it before.
func newlyBlocked(owners, before []metav1.OwnerReference) (blocked []metav1.OwnerReference) {
	did := make(map[types.UID]bool, len(before))
	for _, owner := range before {
		did[owner.UID] = blocksDeletion(owner)
	}
	for _, owner := range owners {
		if blocksDeletion(owner) && !did[owner.UID] {
			blocked = append(blocked, owner)
		}
	}
	return blocked
}

// ownerResource is the resource of an owner's kind.
type ownerResource struct {
	plural     string
	namespaced bool
}

func ownerKind(owner metav1.OwnerReference) (schema.GroupVersionKind, error) {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return gv.WithKind(owner.Kind), err
}

// resourceOf returns the resource of a kind that is served in a version.
func (p ProtectOwners) resourceOf(gvk schema.GroupVersionKind) (ownerResource, error) {
	if p.Kinds != nil {
		for _, k := range p.Kinds.Kinds() {
			info := k.Info()
			if info.Kind != gvk.Kind {
				continue
			}
			if e := info.Endpoint(gvk.GroupVersion()); e != nil && !e.Unserved {
				return ownerResource{plural: info.Plural, namespaced: info.Namespaced}, nil
			}
		}
	}
	return ownerResource{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}
