// Package matching selects the writes that webhooks and admission policies see, and shows them the written object in
// the version that their rules name. It follows Kubernetes' package
// k8s.io/apiserver/pkg/admission/plugin/webhook/predicates and its equivalent for policies.
package matching

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

// Rule selects writes by operation, resource and name.
type Rule = admissionregistrationv1.NamedRuleWithOperations

// Criteria are the parsed rules and selectors of a webhook, a policy or a binding. Nil matches every write.
type Criteria struct {
	*admissionregistrationv1.MatchResources
	// namespaces and objects are nil for a selector that selects everything. err is the parse error of an invalid
	// selector.
	namespaces, objects labels.Selector
	err                 error
}

// New returns the criteria of m, which may be nil. Without rules they match writes of all resources.
func New(m *admissionregistrationv1.MatchResources) *Criteria {
	if m == nil {
		return nil
	}
	c := &Criteria{MatchResources: m}
	c.namespaces, c.objects = c.selector(m.NamespaceSelector), c.selector(m.ObjectSelector)
	return c
}

// selector parses s. It returns nil if s selects everything or is invalid.
func (c *Criteria) selector(s *metav1.LabelSelector) labels.Selector {
	if s == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		c.err = err
		return nil
	}
	if selector.Empty() {
		return nil
	}
	return selector
}

// Resources returns the resources that the rules name, or nil if they may match any resource.
func (c *Criteria) Resources() map[string]bool {
	if c == nil || len(c.ResourceRules) == 0 {
		return nil
	}
	names := map[string]bool{}
	for i := range c.ResourceRules {
		for _, r := range c.ResourceRules[i].Resources {
			name, _, _ := strings.Cut(r, "/")
			if name == "*" {
				return nil
			}
			names[name] = true
		}
	}
	return names
}

// Match reports whether a write matches, and in which version of the resource. It does not evaluate match conditions,
// which need the object in that version. It returns no error if the rules do not match the write.
func (c *Criteria) Match(ctx context.Context, a *admission.Attributes,
	state admission.Reader) (gv schema.GroupVersion, yes bool, err error) {
	gv = a.Resource.GroupVersion()
	if c == nil {
		return gv, true, nil
	}
	if len(c.ResourceRules) > 0 {
		if gv, yes = c.version(c.ResourceRules, a); !yes {
			return gv, false, nil
		}
	}
	if c.objects != nil && !c.selectsObject(a, a.Object) && !c.selectsObject(a, a.Old) {
		return gv, false, nil
	}
	if _, out := c.version(c.ExcludeResourceRules, a); out {
		return gv, false, nil
	}
	if yes, err = c.selectsNamespace(ctx, a, state); yes && c.err != nil {
		return gv, false, apierrors.NewInternalError(c.err)
	}
	return gv, yes, err
}

// version returns the version in which the rules match a write: that of the request or, if the match policy is
// Equivalent, the first served version that one of the rules matches.
func (c *Criteria) version(rules []Rule, a *admission.Attributes) (gv schema.GroupVersion, yes bool) {
	for i := range rules {
		if ruleMatches(&rules[i], a, a.Resource.GroupVersion()) {
			return a.Resource.GroupVersion(), true
		}
	}
	if c.MatchPolicy == nil || *c.MatchPolicy != admissionregistrationv1.Equivalent || a.ServedKind == nil {
		return gv, false
	}
	endpoints, sub := a.ServedKind.Info().Endpoints, a.ServedKind.Info().Subresource(a.Subresource)
	for i := range rules {
		for e := range endpoints {
			gv := endpoints[e].GroupVersion()
			if !endpoints[e].Unserved && ruleMatches(&rules[i], a, gv) && (sub == nil || sub.ServedIn(gv)) {
				return gv, true
			}
		}
	}
	return gv, false
}

func ruleMatches(r *Rule, a *admission.Attributes, gv schema.GroupVersion) bool {
	return hasOperation(r.Operations, a.Operation) && has(r.APIGroups, gv.Group) && has(r.APIVersions, gv.Version) &&
		hasResource(r.Resources, a.Resource.Resource, a.Subresource) && inScope(r.Scope, a) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.Name))
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

// selectsObject matches the object selector against the labels of an object. For a subresource with its own kind, such
// as a Scale, these are the labels of the view.
func (c *Criteria) selectsObject(a *admission.Attributes, obj kind.Object) bool {
	if obj == nil {
		return false
	}
	sub := a.ServedKind.Info().Subresource(a.Subresource)
	if sub == nil || sub.View == nil {
		return c.objects.Matches(labels.Set(obj.GetLabels()))
	}
	view, err := sub.View(obj)
	if err != nil {
		return false
	}
	meta, ok := view.(metav1.Object)
	return ok && c.objects.Matches(labels.Set(meta.GetLabels()))
}

// selectsNamespace matches the namespace selector against the labels of the object's namespace; for a write of a
// namespace, against its new labels. Other cluster-scoped objects always match.
func (c *Criteria) selectsNamespace(
	ctx context.Context, a *admission.Attributes, state admission.Reader,
) (bool, error) {
	name := NamespaceOf(a)
	if c.namespaces == nil || name == "" {
		return true, nil
	}
	if a.Resource.GroupResource() == namespaces && a.Subresource == "" && a.Object != nil {
		return c.namespaces.Matches(labels.Set(a.Object.GetLabels())), nil
	}
	obj, err := state.Get(ctx, namespaces, "", name)
	switch {
	case err != nil:
		return false, apierrors.NewInternalError(err)
	case obj == nil:
		return false, apierrors.NewNotFound(namespaces, name)
	}
	return c.namespaces.Matches(labels.Set(obj.GetLabels())), nil
}

// NamespaceOf returns the namespace of a write. As in Kubernetes, that of a namespace is the namespace itself.
func NamespaceOf(a *admission.Attributes) string {
	if a.Resource.GroupResource() == namespaces {
		return a.Name
	}
	return a.Namespace
}
