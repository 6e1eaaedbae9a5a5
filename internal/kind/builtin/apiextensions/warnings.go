package apiextensions

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// warnings warns about parts of a definition without effect that the old definition did not have.
func warnings(crd, old *definition) []string {
	if old != nil && equality.Semantic.DeepEqual(crd.Spec, old.Spec) {
		return nil
	}
	texts := ineffective(crd)
	if old == nil {
		return texts
	}
	known := ineffective(old)
	return slices.DeleteFunc(texts, func(text string) bool { return slices.Contains(known, text) })
}

// ineffective returns a text for each part of a definition without effect, without duplicates.
func ineffective(crd *definition) []string {
	var texts []string
	add := func(text string) {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, v := range crd.Spec.Versions {
		props := schemaOf(v)
		validation.SchemaHas(props, func(s *apiextensions.JSONSchemaProps) bool {
			if format := unknownFormat(s); format != "" {
				add(fmt.Sprintf("unrecognized format %q", format))
			}
			if kind := setOf(s); kind != "" {
				add(fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", kind))
			}
			return false
		})
	}
	slices.Sort(texts)
	return texts
}

// schemaOf returns the schema of a version in the library's form, or nil if it has no valid schema.
func schemaOf(v apiextensionsv1.CustomResourceDefinitionVersion) *apiextensions.JSONSchemaProps {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil
	}
	props := &apiextensions.JSONSchemaProps{}
	if apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props,
		nil) != nil {
		return nil
	}
	return props
}

// unknownFormat returns the format of a schema if it is not validated.
func unknownFormat(s *apiextensions.JSONSchemaProps) string {
	if s.Format == "" {
		return ""
	}
	open := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
	if len(schemavalidation.GetUnrecognizedFormats(open, environment.DefaultCompatibilityVersion())) == 0 {
		return ""
	}
	return s.Format
}

// setOf returns the type of the items of a set if they are not scalars.
func setOf(s *apiextensions.JSONSchemaProps) string {
	if s.XListType == nil || *s.XListType != "set" || s.Items == nil || s.Items.Schema == nil {
		return ""
	}
	if kind := s.Items.Schema.Type; kind == "object" || kind == "array" {
		return kind
	}
	return ""
}
