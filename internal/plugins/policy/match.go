package policy

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

type namedRule = admissionregistrationv1.NamedRuleWithOperations

// match is the parsed matchConstraints of a policy, or the matchResources of a binding. Nil matches every write.
type match struct {
	*admissionregistrationv1.MatchResources
	// namespaces and objects are nil for a selector that selects everything. err is the parse error of an invalid
	// selector.
	namespaces, objects labels.Selector
	err                 error
}

func newMatch(m *admissionregistrationv1.MatchResources) *match {
	if m == nil {
		return nil
	}
	parsed := &match{MatchResources: m}
	parsed.namespaces, parsed.objects = parsed.selector(m.NamespaceSelector), parsed.selector(m.ObjectSelector)
	return parsed
}

// selector parses s. It returns nil if s selects everything or is invalid.
func (m *match) selector(s *metav1.LabelSelector) labels.Selector {
	if s == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		m.err = err
		return nil
	}
	if selector.Empty() {
		return nil
	}
	return selector
}

// resources returns the resources that the rules name, or nil if they may match any resource.
func (m *match) resources() map[string]bool {
	if m == nil || len(m.ResourceRules) == 0 {
		return nil
	}
	names := map[string]bool{}
	for i := range m.ResourceRules {
		for _, r := range m.ResourceRules[i].Resources {
			name, _, _ := strings.Cut(r, "/")
			if name == "*" {
				return nil
			}
			names[name] = true
		}
	}
	return names
}

// matches reports whether a write matches, and in which version of the resource. It returns no error if the rules do
// not match the write.
func (m *match) matches(ctx context.Context, a *admission.Attributes,
	state admission.Reader) (gv schema.GroupVersion, yes bool, err error) {
	gv = a.Resource.GroupVersion()
	if m == nil {
		return gv, true, nil
	}
	if len(m.ResourceRules) > 0 {
		if gv, yes = m.version(m.ResourceRules, a); !yes {
			return gv, false, nil
		}
	}
	if m.objects != nil && !m.selectsObject(a, a.Object) && !m.selectsObject(a, a.Old) {
		return gv, false, nil
	}
	if _, out := m.version(m.ExcludeResourceRules, a); out {
		return gv, false, nil
	}
	if yes, err = m.selectsNamespace(ctx, a, state); yes && m.err != nil {
		return gv, false, apierrors.NewInternalError(m.err)
	}
	return gv, yes, err
}

// version returns the version in which the rules match a write: that of the request or, if the match policy is
// Equivalent, the first served version that one of the rules matches.
func (m *match) version(rules []namedRule, a *admission.Attributes) (gv schema.GroupVersion, yes bool) {
	for i := range rules {
		if ruleMatches(&rules[i], a, a.Resource.GroupVersion()) {
			return a.Resource.GroupVersion(), true
		}
	}
	if m.MatchPolicy == nil || *m.MatchPolicy != admissionregistrationv1.Equivalent || a.ServedKind == nil {
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

func ruleMatches(r *namedRule, a *admission.Attributes, gv schema.GroupVersion) bool {
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

// selectsObject matches the object selector against the labels of the object that the policy sees. For a subresource
// with its own kind, such as a Scale, these are the labels of the view.
func (m *match) selectsObject(a *admission.Attributes, obj kind.Object) bool {
	if obj == nil {
		return false
	}
	sub := a.ServedKind.Info().Subresource(a.Subresource)
	if sub == nil || sub.View == nil {
		return m.objects.Matches(labels.Set(obj.GetLabels()))
	}
	view, err := sub.View(obj)
	if err != nil {
		return false
	}
	meta, ok := view.(metav1.Object)
	return ok && m.objects.Matches(labels.Set(meta.GetLabels()))
}

// selectsNamespace matches the namespace selector against the labels of the object's namespace; for a write of a
// namespace, against its new labels. Other cluster-scoped objects always match.
func (m *match) selectsNamespace(ctx context.Context, a *admission.Attributes, state admission.Reader) (bool, error) {
	name := namespaceOf(a)
	if m.namespaces == nil || name == "" {
		return true, nil
	}
	if a.Resource.GroupResource() == namespaces && a.Subresource == "" && a.Object != nil {
		return m.namespaces.Matches(labels.Set(a.Object.GetLabels())), nil
	}
	obj, err := state.Get(ctx, namespaces, "", name)
	switch {
	case err != nil:
		return false, apierrors.NewInternalError(err)
	case obj == nil:
		return false, apierrors.NewNotFound(namespaces, name)
	}
	return m.namespaces.Matches(labels.Set(obj.GetLabels())), nil
}

// namespaceOf returns the namespace of a write. As in Kubernetes, that of a namespace is the namespace itself.
func namespaceOf(a *admission.Attributes) string {
	if a.Resource.GroupResource() == namespaces {
		return a.Name
	}
	return a.Namespace
}
