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

// nameRule is the library's error for a name that does not consist of the plural and the group.
const nameRule = `must be spec.names.plural+"."+spec.group`

// validate validates a definition with the library. It drops errors about the metadata, which the request
// pipeline validates for every kind.
func validate(crd, old *definition, sub string) field.ErrorList {
	if sub != "status" {
		if errs := costlySchemas(crd, old); len(errs) > 0 {
			return errs // before the library compiles the schemas
		}
	}
	obj, err := validated(crd)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if old == nil {
		return append(dropMetadataErrors(validateCreate(obj, fromV1beta1(crd))), costlyColumns(crd)...)
	}
	was, err := validated(old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	switch {
	case sub == "status":
		return dropMetadataErrors(validation.ValidateUpdateCustomResourceDefinitionStatus(context.Background(), obj,
			was))
	case fromV1beta1(crd):
		was = lenientOld(obj, was)
	}
	return dropMetadataErrors(validation.ValidateCustomResourceDefinitionUpdate(context.Background(), obj, was))
}

func validateCreate(obj *apiextensions.CustomResourceDefinition, viaV1beta1 bool) field.ErrorList {
	if !viaV1beta1 {
		return validation.ValidateCustomResourceDefinition(context.Background(), obj)
	}
	errs := validation.ValidateCustomResourceDefinitionUpdate(context.Background(), obj, lenientOld(obj, obj))
	if obj.Name != obj.Spec.Names.Plural+"."+obj.Spec.Group {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), obj.Name, nameRule))
	}
	return errs
}

// validated converts a definition for the library, with the metadata that the rules of this kind need. The
// resourceVersion only satisfies the library's check for one.
func validated(crd *definition) (*apiextensions.CustomResourceDefinition, error) {
	obj, err := internalOf(crd)
	if err != nil {
		return nil, err
	}
	obj.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, Annotations: crd.Annotations, ResourceVersion: "1"}
	return obj, nil
}

// lenientOld returns an old definition with which the library applies to obj only the rules of v1beta1: for
// updates, the library does not require what the old definition lacked. Therefore the result has a version
// without a schema and one with a schema that is not structural, preserves unknown fields, and has the API
// approval of obj.
func lenientOld(obj, old *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	preserve := true
	was := *old
	was.Annotations = obj.Annotations
	was.Spec.PreserveUnknownFields = &preserve
	was.Spec.Validation = nil
	was.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{
		{Name: "without-schema"},
		{Name: "without-type",
			Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
				Properties: map[string]apiextensions.JSONSchemaProps{"untyped": {}},
			}}},
	}
	return &was
}

// dropMetadataErrors drops the errors about metadata in general.
func dropMetadataErrors(errs field.ErrorList) field.ErrorList {
	approval := field.NewPath("metadata", "annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation).String()
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		if !strings.HasPrefix(e.Field, "metadata") || e.Field == approval {
			return false
		}
		return e.Detail != nameRule
	})
}
