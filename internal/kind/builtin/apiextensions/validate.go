package apiextensions

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nameRule is what the library says of a name that is not made of the plural and the group.
const nameRule = `must be spec.names.plural+"."+spec.group`

// validate checks a definition with the library, and leaves out what that says of the metadata, which the request
// pipeline checks for every kind.
func validate(crd, old *definition, sub string) field.ErrorList {
	obj, err := validated(crd)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if old == nil {
		return definitionsOwn(validateCreate(obj, fromV1beta1(crd)))
	}
	was, err := validated(old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	switch {
	case sub == "status":
		return definitionsOwn(validation.ValidateUpdateCustomResourceDefinitionStatus(context.Background(), obj, was))
	case fromV1beta1(crd):
		was = forgiving(obj, was)
	}
	return definitionsOwn(validation.ValidateCustomResourceDefinitionUpdate(context.Background(), obj, was))
}

func validateCreate(obj *apiextensions.CustomResourceDefinition, viaV1beta1 bool) field.ErrorList {
	if !viaV1beta1 {
		return validation.ValidateCustomResourceDefinition(context.Background(), obj)
	}
	errs := validation.ValidateCustomResourceDefinitionUpdate(context.Background(), obj, forgiving(obj, obj))
	if obj.Name != obj.Spec.Names.Plural+"."+obj.Spec.Group {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), obj.Name, nameRule))
	}
	return errs
}

// validated is a definition for the library, with as much of its metadata as the rules of this kind read. The
// resourceVersion only keeps the library from asking for one.
func validated(crd *definition) (*apiextensions.CustomResourceDefinition, error) {
	obj, err := internalOf(crd)
	if err != nil {
		return nil, err
	}
	obj.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, Annotations: crd.Annotations, ResourceVersion: "1"}
	return obj, nil
}

// forgiving is an old definition in the light of which the library asks of obj no more than v1beta1 did: it never
// demands again what an old definition lacked. So the result lacks a schema in one version, has one in another that is
// not structural, preserves unknown fields, and is as much approved as obj.
func forgiving(obj, old *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	preserve := true
	was := *old
	was.Annotations = obj.Annotations
	was.Spec.PreserveUnknownFields = &preserve
	was.Spec.Validation = nil
	was.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{
		{Name: "without-schema"},
		{Name: "without-type", Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
			Properties: map[string]apiextensions.JSONSchemaProps{"untyped": {}},
		}}},
	}
	return &was
}

// definitionsOwn are the errors but those about metadata in general.
func definitionsOwn(errs field.ErrorList) field.ErrorList {
	approval := field.NewPath("metadata", "annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation).String()
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		if !strings.HasPrefix(e.Field, "metadata") || e.Field == approval {
			return false
		}
		return e.Detail != nameRule
	})
}
