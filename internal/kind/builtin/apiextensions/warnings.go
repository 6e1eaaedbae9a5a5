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

// warnings name what a definition asks for and does not get, as far as the old one did not ask for it already.
func warnings(crd, old *definition) []string {
	if old != nil && equality.Semantic.DeepEqual(crd.Spec, old.Spec) {
		return nil
	}
	texts := unheeded(crd)
	if old == nil {
		return texts
	}
	known := unheeded(old)
	return slices.DeleteFunc(texts, func(text string) bool { return slices.Contains(known, text) })
}

// unheeded says what of a definition has no effect, each once.
func unheeded(crd *definition) []string {
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

// schemaOf is the schema of a version in the form of the library; nil when it has none that can be read.
func schemaOf(v apiextensionsv1.CustomResourceDefinitionVersion) *apiextensions.JSONSchemaProps {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil
	}
	props := &apiextensions.JSONSchemaProps{}
	if apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil) != nil {
		return nil
	}
	return props
}

// unknownFormat is a schema's format when nothing checks it.
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

// setOf is the type of the items of a set, when they are no scalars.
func setOf(s *apiextensions.JSONSchemaProps) string {
	if s.XListType == nil || *s.XListType != "set" || s.Items == nil || s.Items.Schema == nil {
		return ""
	}
	if kind := s.Items.Schema.Type; kind == "object" || kind == "array" {
		return kind
	}
	return ""
}
