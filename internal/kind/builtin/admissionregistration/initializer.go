package admissionregistration

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/admissionregistration/v1alpha1"
	"github.com/bowline-dev/bowline/internal/object"
)

type initializers = v1alpha1.InitializerConfiguration

// initializerKind returns the kind that Kubernetes served from 1.7 to 1.13, with the rules of that time.
func initializerKind(cache *object.Cache) kind.Kind {
	gv := v1alpha1.SchemeGroupVersion
	return kind.NewTyped(cache, kind.Info{
		Kind: "InitializerConfiguration", Plural: "initializerconfigurations", Singular: "initializerconfiguration",
		Endpoints:  []kind.Endpoint{{Group: gv.Group, Version: gv.Version}},
		Generation: true, ConditionalUpdate: true,
	}, kind.Rules[*initializers]{
		Validate: func(c, _ *initializers, _ string) (errs fieldErrors) {
			for i, one := range c.Initializers {
				errs = append(errs, validateInitializer(one, field.NewPath("initializers").Index(i))...)
			}
			return errs
		},
	})
}

func validateInitializer(i v1alpha1.Initializer, path *field.Path) fieldErrors {
	errs := validation.IsFullyQualifiedName(path.Child("name"), i.Name)
	for n, r := range i.Rules {
		at := path.Child("rules").Index(n)
		errs = append(errs, wildcardAlone(r.APIGroups, at.Child("apiGroups"), "API groups")...)
		versions := at.Child("apiVersions")
		errs = append(errs, wildcardAlone(r.APIVersions, versions, "API versions")...)
		for i, v := range r.APIVersions {
			if v == "" {
				errs = append(errs, field.Required(versions.Index(i), ""))
			}
		}
		errs = append(errs, validateWholeResources(r.Resources, at.Child("resources"))...)
	}
	return errs
}

// validateWholeResources rejects subresources: initializers act on whole objects.
func validateWholeResources(resources []string, path *field.Path) (errs fieldErrors) {
	if len(resources) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	for i, r := range resources {
		if r == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
		}
		if strings.Contains(r, "/") {
			errs = append(errs, field.Invalid(path.Index(i), r, "must not specify subresources"))
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*") {
		errs = append(errs, field.Invalid(path, resources, "if '*' is present, must not specify other resources"))
	}
	return errs
}
