package authorization

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var specPath = field.NewPath("spec")

func validateReview(review, _ *authorizationv1.SubjectAccessReview, _ string) field.ErrorList {
	return append(validateSpec(&review.Spec), validateMetadata(review.ObjectMeta, "must be empty")...)
}

func validateSelfReview(review, _ *authorizationv1.SelfSubjectAccessReview, _ string) field.ErrorList {
	spec := &review.Spec
	errs := validateAction(spec.ResourceAttributes, spec.NonResourceAttributes)
	errs = append(errs, validateSelectors(spec.ResourceAttributes)...)
	return append(errs, validateMetadata(review.ObjectMeta, "must be empty")...)
}

func validateLocalReview(review, _ *authorizationv1.LocalSubjectAccessReview, _ string) field.ErrorList {
	spec, meta := &review.Spec, review.ObjectMeta
	meta.Namespace = ""
	errs := append(validateSpec(spec), validateMetadata(meta, "must be empty except for namespace")...)
	if a := spec.ResourceAttributes; a != nil && a.Namespace != review.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), a.Namespace,
			"must match metadata.namespace"))
	}
	if a := spec.NonResourceAttributes; a != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec.nonResourceAttributes"), layoutOf(a),
			"disallowed on this kind of request"))
	}
	return errs
}

func validateMetadata(meta metav1.ObjectMeta, detail string) field.ErrorList {
	if equality.Semantic.DeepEqual(metav1.ObjectMeta{}, ownMetadata(meta)) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), meta, detail)}
}

func validateSpec(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := validateAction(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(specPath.Child("user"), spec.User,
			"at least one of user or group must be specified"))
	}
	return append(errs, validateSelectors(spec.ResourceAttributes)...)
}

func validateAction(resource *authorizationv1.ResourceAttributes,
	other *authorizationv1.NonResourceAttributes) field.ErrorList {
	if (resource == nil) != (other == nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath, layoutOf(other),
		"exactly one of nonResourceAttributes or resourceAttributes must be specified")}
}

// attributes has the fields of NonResourceAttributes as Kubernetes' messages show them.
type attributes struct{ Path, Verb string }

// layoutOf returns a as messages show it; nil is shown as null.
func layoutOf(a *authorizationv1.NonResourceAttributes) *attributes {
	if a == nil {
		return nil
	}
	return &attributes{a.Path, a.Verb}
}

// validateSelectors accepts unknown operators: a client may be newer than this server.
func validateSelectors(a *authorizationv1.ResourceAttributes) (errs field.ErrorList) {
	if a == nil {
		return nil
	}
	path := field.NewPath("spec.resourceAttributes")
	if s, at := a.FieldSelector, path.Child("fieldSelector"); s != nil {
		errs = validateForm(s.RawSelector, len(s.Requirements), at)
		options := metavalidation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}
		for i, r := range s.Requirements {
			errs = append(errs, metavalidation.ValidateFieldSelectorRequirement(r, options,
				at.Child("requirements").Index(i))...)
		}
	}
	if s, at := a.LabelSelector, path.Child("labelSelector"); s != nil {
		errs = append(errs, validateForm(s.RawSelector, len(s.Requirements), at)...)
		options := metavalidation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}
		for i, r := range s.Requirements {
			errs = append(errs, metavalidation.ValidateLabelSelectorRequirement(r, options,
				at.Child("requirements").Index(i))...)
		}
	}
	return errs
}

// validateForm checks that a selector is either text or a list of requirements.
func validateForm(raw string, requirements int, at *field.Path) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(at.Child("rawSelector"), raw,
			"may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(at.Child("requirements"),
			fmt.Sprintf("when %s is specified, requirements or rawSelector is required", at))}
	}
	return nil
}
