package apiextensions

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
)

// fromLegacy converts a v1beta1 definition to the hub, after applying v1beta1's defaults. It rejects invalid
// definitions that v1 cannot represent.
func fromLegacy(obj runtime.Object) (*definition, error) {
	old := obj.(*apiextensionsv1beta1.CustomResourceDefinition).DeepCopy()
	apiextensionsv1beta1.SetObjectDefaults_CustomResourceDefinition(old)
	if errs := ambiguous(&old.Spec); len(errs) > 0 {
		return nil, kind.NewInvalid(apiextensionsv1.Kind("CustomResourceDefinition"), old.Name, errs)
	}
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(old, &internal, nil); err != nil {
		return nil, err
	}
	crd := &definition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(&internal,
		crd, nil); err != nil {
		return nil, err
	}
	crd.TypeMeta = metav1.TypeMeta{Kind: "CustomResourceDefinition", APIVersion: hub}
	return crd, nil
}

// toLegacy converts a definition to v1beta1, in which fields that all versions share are at the top level.
func toLegacy(crd *definition) (runtime.Object, error) {
	internal, err := internalOf(crd.DeepCopy())
	if err != nil {
		return nil, err
	}
	old := &apiextensionsv1beta1.CustomResourceDefinition{}
	if err := apiextensionsv1beta1.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(internal, old, nil); err != nil {
		return nil, err
	}
	old.TypeMeta = metav1.TypeMeta{Kind: "CustomResourceDefinition", APIVersion: legacy}
	return old, nil
}

// internalOf converts a definition to the form that the libraries validate. The result shares memory with
// crd.
func internalOf(crd *definition) (*apiextensions.CustomResourceDefinition, error) {
	internal := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal,
		nil)
	return internal, err
}

// ambiguous returns errors for fields that a v1beta1 definition sets both for all versions and for one.
func ambiguous(spec *apiextensionsv1beta1.CustomResourceDefinitionSpec) field.ErrorList {
	path := field.NewPath("spec")
	var schemas, subresources, columns bool
	for _, v := range spec.Versions {
		schemas = schemas || v.Schema != nil
		subresources = subresources || v.Subresources != nil
		columns = columns || len(v.AdditionalPrinterColumns) > 0
	}
	var errs field.ErrorList
	if spec.Validation != nil && schemas {
		errs = append(errs, field.Forbidden(path.Child("validation"),
			"top-level and per-version schemas are mutually exclusive"))
	}
	if spec.Subresources != nil && subresources {
		errs = append(errs, field.Forbidden(path.Child("subresources"),
			"top-level and per-version subresources are mutually exclusive"))
	}
	if len(spec.AdditionalPrinterColumns) > 0 && columns {
		errs = append(errs, field.Forbidden(path.Child("additionalPrinterColumns"),
			"top-level and per-version additionalPrinterColumns are mutually exclusive"))
	}
	if len(spec.Versions) > 0 && spec.Version != spec.Versions[0].Name {
		errs = append(errs, field.Invalid(path.Child("version"), spec.Version,
			"must match the first version in spec.versions"))
	}
	return errs
}
