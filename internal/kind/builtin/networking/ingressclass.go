package networking

import (
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func ingressClassKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "IngressClass", Plural: "ingressclasses", Singular: "ingressclass",
		Generation: true,
		Endpoints: []kind.Endpoint{
			{Group: networkingv1.GroupName, Version: "v1"},
			oldEndpoint(beta1, "IngressClass", &networkingv1beta1.IngressClass{}),
		},
	}, kind.Rules[*networkingv1.IngressClass]{
		Default:  defaultIngressClass,
		Validate: fieldcheck.WithFinalizers(validateIngressClass),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Controller", Type: "string", Description: "Controller that is responsible for handling this class"},
			{Name: "Parameters", Type: "string", Description: "A reference to a resource with additional parameters"},
			kind.AgeColumn,
		},
		Row: ingressClassRow,
	})
}

func defaultIngressClass(c *networkingv1.IngressClass) {
	if p := c.Spec.Parameters; p != nil && p.Scope == nil {
		p.Scope = new(networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

// maxController is the maximum length of a controller name.
const maxController = 250

func validateIngressClass(c, old *networkingv1.IngressClass, _ string) (errs field.ErrorList) {
	path := field.NewPath("spec")
	controller := path.Child("controller")
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(c.Spec.Controller, old.Spec.Controller, controller)...)
	}
	if len(c.Spec.Controller) > maxController {
		errs = append(errs, field.TooLong(controller, "", maxController))
	}
	errs = append(errs, validation.IsDomainPrefixedPath(controller, c.Spec.Controller)...)
	if p := c.Spec.Parameters; p != nil {
		at := path.Child("parameters")
		invalid, missing := cutRequired(validateReference(p.APIGroup, p.Kind, p.Name, at))
		errs = append(errs, invalid...)
		errs = append(errs, validateScope(p, at)...)
		errs = append(errs, missing...)
	}
	return errs
}

// validateScope requires a namespace for namespaced parameters, and rejects one for others.
func validateScope(p *networkingv1.IngressClassParametersReference, path *field.Path) field.ErrorList {
	const (
		inCluster   = networkingv1.IngressClassParametersReferenceScopeCluster
		inNamespace = networkingv1.IngressClassParametersReferenceScopeNamespace
	)
	at := path.Child("namespace")
	switch scopes := []string{inCluster, inNamespace}; {
	case p.Scope == nil:
		return field.ErrorList{field.Required(path.Child("scope"), "")}
	case !slices.Contains(scopes, *p.Scope):
		return field.ErrorList{field.NotSupported(path.Child("scope"), *p.Scope, scopes)}
	case *p.Scope == inCluster && p.Namespace != nil:
		return field.ErrorList{field.Forbidden(at, "`parameters.scope` is set to 'Cluster'")}
	case *p.Scope == inNamespace && p.Namespace == nil:
		return field.ErrorList{field.Required(at, "`parameters.scope` is set to 'Namespace'")}
	case *p.Scope == inNamespace:
		return fieldcheck.Invalid(at, *p.Namespace, apivalidation.ValidateNamespaceName(*p.Namespace, false))
	}
	return nil
}

func ingressClassRow(c *networkingv1.IngressClass, now time.Time) []any {
	name, parameters := c.Name, nothing
	if c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
		name += " (default)"
	}
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return []any{name, c.Spec.Controller, parameters, kind.Age(c.CreationTimestamp.Time, now)}
}
