package apiextensions

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// approval returns the condition about the API approval of a definition in a community group; false for other
// groups.
func approval(crd *definition) (apiextensionsv1.CustomResourceDefinitionCondition, bool) {
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return apiextensionsv1.CustomResourceDefinitionCondition{}, false
	}
	state, message := apihelpers.GetAPIApprovalState(crd.Annotations)
	status, reason := apiextensionsv1.ConditionFalse, "InvalidAnnotation"
	switch state {
	case apihelpers.APIApproved:
		status, reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	case apihelpers.APIApprovalBypassed:
		reason = "UnapprovedAnnotation"
	case apihelpers.APIApprovalMissing:
		reason = "MissingAnnotation"
	}
	return condition(apiextensionsv1.KubernetesAPIApprovalPolicyConformant, status, reason, message), true
}

// nonStructural returns the condition that lists why a definition's schemas are not structural. Only
// definitions from v1beta1 that preserve unknown fields may have such schemas; validation rejects them in all
// others.
func nonStructural(crd *definition) (apiextensionsv1.CustomResourceDefinitionCondition, bool) {
	if !crd.Spec.PreserveUnknownFields {
		return apiextensionsv1.CustomResourceDefinitionCondition{}, false
	}
	errs := field.ErrorList{field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false")}
	for i, v := range crd.Spec.Versions {
		props := schemaOf(v)
		if props == nil {
			continue
		}
		s, err := schema.NewStructural(props)
		if err != nil {
			message := fmt.Sprintf("failed to check validation schema for version %s: %v", v.Name, err)
			return condition(apiextensionsv1.NonStructuralSchema, apiextensionsv1.ConditionUnknown, "StructuralError",
				message), true
		}
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		errs = append(errs, schema.ValidateStructural(path, s)...)
	}
	return condition(apiextensionsv1.NonStructuralSchema, apiextensionsv1.ConditionTrue, "Violations",
		errs.ToAggregate().Error()), true
}

func condition(kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus,
	reason, message string) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason,
		Message: message}
}

// setCondition adds or replaces a condition. Its transition time is retained if the status does not change.
func setCondition(crd *definition, c apiextensionsv1.CustomResourceDefinitionCondition, now metav1.Time) {
	c.LastTransitionTime = now
	for i := range crd.Status.Conditions {
		have := &crd.Status.Conditions[i]
		if have.Type != c.Type {
			continue
		}
		if have.Status == c.Status && !have.LastTransitionTime.IsZero() {
			c.LastTransitionTime = have.LastTransitionTime
		}
		*have = c
		return
	}
	crd.Status.Conditions = append(crd.Status.Conditions, c)
}
