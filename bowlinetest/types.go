package bowlinetest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// typesOf holds the arguments of the option Types.
type typesOf struct {
	addToScheme func(*runtime.Scheme) error
	change      func(*apiextensionsv1.CustomResourceDefinition)
}

// DefinitionOf returns a CustomResourceDefinition of a kind, derived from the Go types of its versions, which are keyed
// by version name. The newest version is the storage version. The caller owns the result.
//
// A struct lacks the information that generators read from comments, so DefinitionOf guesses it: the kind is
// namespaced, its plural follows English grammar, and it has a status subresource if the struct has a field status. A
// field is required unless its JSON tag has omitempty or omitzero. There are no bounds, enumerations, patterns or
// defaults. The schema of a type with its own JSON encoding permits any value unless the type implements
// OpenAPISchemaType, as Time, Quantity and IntOrString do. So does the schema of a recursive type within itself.
func DefinitionOf(group, kind string, versions map[string]reflect.Type) *apiextensionsv1.CustomResourceDefinition {
	plural, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: definition},
		ObjectMeta: metav1.ObjectMeta{Name: plural.Resource + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind, ListKind: kind + "List", Plural: plural.Resource, Singular: singular.Resource,
			},
		},
	}
	names := slices.SortedFunc(maps.Keys(versions), func(a, b string) int {
		return version.CompareKubeAwareVersionStrings(b, a)
	})
	for i, name := range names {
		properties := schemaOfObject(versions[name])
		v := apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: i == 0,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: properties}}
		if _, ok := properties.Properties["status"]; ok {
			v.Subresources = &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
			}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, v)
	}
	return crd
}

// register registers types and returns definitions for those of their kinds that are not served yet.
func (r *resources) register(types []typesOf,
	served func(schema.GroupVersionKind) bool) ([]*unstructured.Unstructured, error) {
	var definitions []*unstructured.Unstructured
	for _, of := range types {
		scheme := runtime.NewScheme()
		if err := of.addToScheme(scheme); err != nil {
			return nil, fmt.Errorf("adding types: %w", err)
		}
		r.schemes = append(r.schemes, scheme)
		for _, crd := range definitionsOf(scheme, served) {
			if of.change != nil {
				of.change(crd)
			}
			content, err := contentOf(crd)
			if err != nil {
				return nil, fmt.Errorf("the definition of %s: %w", crd.Name, err)
			}
			unstructured.RemoveNestedField(content, "status")
			definitions = append(definitions, &unstructured.Unstructured{Object: content})
		}
	}
	return definitions, nil
}

// definitionsOf returns the definitions of a scheme's kinds that are not served yet, sorted by group and
// kind.
func definitionsOf(scheme *runtime.Scheme,
	served func(schema.GroupVersionKind) bool) []*apiextensionsv1.CustomResourceDefinition {
	kinds := map[schema.GroupKind]map[string]reflect.Type{}
	for gvk, goType := range scheme.AllKnownTypes() {
		if !isKind(goType) || gvk.Version == runtime.APIVersionInternal || served(gvk) {
			continue
		}
		if kinds[gvk.GroupKind()] == nil {
			kinds[gvk.GroupKind()] = map[string]reflect.Type{}
		}
		kinds[gvk.GroupKind()][gvk.Version] = goType
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	}) {
		definitions = append(definitions, DefinitionOf(kind.Group, kind.Kind, kinds[kind]))
	}
	return definitions
}

// isKind reports whether a type is that of an object, and not of a list, of options or another type that every scheme
// has.
func isKind(goType reflect.Type) bool {
	_, object := reflect.New(goType).Interface().(metav1.Object)
	field, ok := goType.FieldByName("ObjectMeta")
	return object && ok && field.Type == reflect.TypeFor[metav1.ObjectMeta]()
}
