package networking

import (
	"cmp"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// ipAddressKind returns the kind of IP addresses. An object records that the address in its name is in use.
func ipAddressKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "IPAddress", Plural: "ipaddresses", Singular: "ipaddress", ShortNames: []string{"ip"},
		Endpoints: []kind.Endpoint{{Group: networkingv1.GroupName, Version: "v1"}},
		ValidName: validAddressName,
	}, kind.Rules[*networkingv1.IPAddress]{
		Validate: fieldcheck.WithFinalizers(validateIPAddress),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "ParentRef", Type: "string", Description: networkingv1.IPAddressSpec{}.SwaggerDoc()["parentRef"]},
		},
		Row: ipAddressRow,
	})
}

// validAddressName requires an address in canonical form, so that two objects never stand for the same address.
func validAddressName(name string, _ bool) (messages []string) {
	for _, err := range validation.IsValidIP(nil, name) {
		messages = append(messages, err.Detail)
	}
	return messages
}

func validateIPAddress(a, old *networkingv1.IPAddress, _ string) field.ErrorList {
	path := field.NewPath("spec", "parentRef")
	errs := validateParent(a.Spec.ParentRef, path)
	switch {
	case old == nil:
		others, missing := cutRequired(errs)
		return append(others, missing...)
	case !equality.Semantic.DeepEqual(a.Spec.ParentRef, old.Spec.ParentRef):
		errs = append(errs, field.Invalid(path, nil, apivalidation.FieldImmutableErrorMsg))
	}
	return append(errs, fieldcheck.Finalizers(a)...) // Kubernetes applies the rules of a create to an update, too
}

// validateParent validates the reference to the object that uses an address.
func validateParent(p *networkingv1.ParentReference, path *field.Path) (errs field.ErrorList) {
	if p == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	if p.Group != "" { // services are in the core group, whose name is empty
		errs = append(errs, fieldcheck.Subdomain(path.Child("group"), p.Group)...)
	}
	for _, part := range []struct {
		name, value string
		required    bool
	}{{"resource", p.Resource, true}, {"name", p.Name, true}, {"namespace", p.Namespace, false}} {
		switch at := path.Child(part.name); {
		case part.value != "":
			errs = append(errs, fieldcheck.Invalid(at, part.value, content.IsPathSegmentName(part.value))...)
		case part.required:
			errs = append(errs, field.Required(at, ""))
		}
	}
	return errs
}

// ipAddressRow returns one cell more than there are columns, the age, as Kubernetes does. kubectl ignores it.
func ipAddressRow(a *networkingv1.IPAddress, now time.Time) []any {
	parent := ""
	if p := a.Spec.ParentRef; p != nil {
		parent = strings.ToLower(schema.GroupResource{Group: p.Group, Resource: p.Resource}.String())
		if p.Namespace != "" {
			parent += "/" + p.Namespace
		}
		parent += "/" + p.Name
	}
	return []any{a.Name, cmp.Or(parent, nothing), kind.Age(a.CreationTimestamp.Time, now)}
}
