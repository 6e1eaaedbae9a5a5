package webhook

import (
	"context"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

var namespaces = schema.GroupResource{Resource: "namespaces"}

// selects reports whether a webhook must be called for a write, and in which version of the resource. It
// does not evaluate match conditions, which need the object in that version. It returns no error if the rules
// do not match the write.
func (h *hook) selects(ctx context.Context, a *admission.Attributes,
	state admission.Reader) (gv schema.GroupVersion, yes bool, err error) {
	gv, yes = h.version(a)
	if !yes || h.objects != nil && !h.selectsObject(a, a.Object) && !h.selectsObject(a, a.Old) {
		return gv, false, nil
	}
	if yes, err = h.selectsNamespace(ctx, a, state); yes && h.selectorErr != nil {
		return gv, false, apierrors.NewInternalError(h.selectorErr)
	}
	return gv, yes, err
}

// version returns the version in which the webhook receives the object: that of the request or, if the match
// policy is Equivalent, the first served version that one of the rules matches.
func (h *hook) version(a *admission.Attributes) (gv schema.GroupVersion, yes bool) {
	for i := range h.Rules {
		if matches(&h.Rules[i], a, a.Resource.GroupVersion()) {
			return a.Resource.GroupVersion(), true
		}
	}
	if h.MatchPolicy == nil || *h.MatchPolicy != admissionregistrationv1.Equivalent || a.ServedKind == nil {
		return gv, false
	}
	endpoints, sub := a.ServedKind.Info().Endpoints, a.ServedKind.Info().Subresource(a.Subresource)
	for i := range h.Rules {
		for e := range endpoints {
			gv := endpoints[e].GroupVersion()
			if !endpoints[e].Unserved && matches(&h.Rules[i], a, gv) && (sub == nil || sub.ServedIn(gv)) {
				return gv, true
			}
		}
	}
	return gv, false
}

func matches(r *admissionregistrationv1.RuleWithOperations, a *admission.Attributes, gv schema.GroupVersion) bool {
	return hasOperation(r.Operations, a.Operation) && has(r.APIGroups, gv.Group) && has(r.APIVersions, gv.Version) &&
		hasResource(r.Resources, a.Resource.Resource, a.Subresource) && inScope(r.Scope, a)
}

func has(values []string, value string) bool {
	return slices.Contains(values, value) || slices.Contains(values, "*")
}

func hasOperation(operations []admissionregistrationv1.OperationType, op admission.Operation) bool {
	for _, o := range operations {
		if o == admissionregistrationv1.OperationAll || string(o) == string(op) {
			return true
		}
	}
	return false
}

func hasResource(resources []string, resource, sub string) bool {
	for _, r := range resources {
		name, below, _ := strings.Cut(r, "/")
		if (name == "*" || name == resource) && (below == "*" || below == sub) {
			return true
		}
	}
	return false
}

// inScope reports whether the scope of a rule matches. Namespaces themselves are cluster-scoped.
func inScope(scope *admissionregistrationv1.ScopeType, a *admission.Attributes) bool {
	if scope == nil || *scope == admissionregistrationv1.AllScopes {
		return true
	}
	within := a.Namespace != "" && a.Resource.GroupResource() != namespaces
	return within == (*scope == admissionregistrationv1.NamespacedScope)
}

func matchesLabels(selector labels.Selector, obj kind.Object) bool {
	return obj != nil && selector.Matches(labels.Set(obj.GetLabels()))
}

// selectsObject matches the object selector against the labels of the object that the webhook receives. For a
// subresource with its own kind, such as a Scale, these are the labels of the view.
func (h *hook) selectsObject(a *admission.Attributes, obj kind.Object) bool {
	sub := a.ServedKind.Info().Subresource(a.Subresource)
	if obj == nil || sub == nil || sub.View == nil {
		return matchesLabels(h.objects, obj)
	}
	view, err := sub.View(obj)
	if err != nil {
		return false
	}
	meta, ok := view.(metav1.Object)
	return ok && h.objects.Matches(labels.Set(meta.GetLabels()))
}

// selectsNamespace matches the namespace selector against the labels of the object's namespace; for a write
// of a namespace, against its new labels. Other cluster-scoped objects always match.
func (h *hook) selectsNamespace(ctx context.Context, a *admission.Attributes, state admission.Reader) (bool, error) {
	name := a.Namespace
	if a.Resource.GroupResource() == namespaces {
		name = a.Name
	}
	if h.namespaces == nil || name == "" {
		return true, nil
	}
	if a.Resource.GroupResource() == namespaces && a.Subresource == "" && a.Object != nil {
		return matchesLabels(h.namespaces, a.Object), nil
	}
	obj, err := state.Get(ctx, namespaces, "", name)
	switch {
	case err != nil:
		return false, apierrors.NewInternalError(err)
	case obj == nil:
		return false, apierrors.NewNotFound(namespaces, name)
	}
	return matchesLabels(h.namespaces, obj), nil
}
