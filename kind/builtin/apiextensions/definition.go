// Package apiextensions is the kind CustomResourceDefinition: its names, defaults and validation, as
// apiextensions.k8s.io/v1, which is stored, and as v1beta1, which Kubernetes no longer serves and old manifests still
// use. It also decides, in pure functions, what a definition's status says: which names it got, whether it is
// established, how far its deletion is.
//
// The package keeps no definitions and serves none: the server calls Establish within a write, makes the kinds with
// package kind/structural, and deletes the instances of a deleted definition.
package apiextensions

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/object"
)

const (
	hub    = "apiextensions.k8s.io/v1"
	legacy = "apiextensions.k8s.io/v1beta1"
)

// definition is a CustomResourceDefinition in the hub version.
type definition = apiextensionsv1.CustomResourceDefinition

// Kinds are the kinds of the group: customresourcedefinitions. The cache bounds the second encodings of all kinds of a
// server.
func Kinds(cache *object.Cache) []kind.Kind {
	typed := kind.NewTyped(cache, info(), kind.Rules[*definition]{
		Default:  apiextensionsv1.SetObjectDefaults_CustomResourceDefinition,
		Prepare:  prepare,
		Validate: validate,
		Warnings: warnings,
		Versions: map[string]kind.Version[*definition]{legacy: {
			New:     func() runtime.Object { return &apiextensionsv1beta1.CustomResourceDefinition{} },
			ToHub:   fromLegacy,
			FromHub: toLegacy,
		}},
	})
	return []kind.Kind{&definitions{typed}}
}

func info() kind.Info {
	return kind.Info{
		Kind:       "CustomResourceDefinition",
		Plural:     "customresourcedefinitions",
		Singular:   "customresourcedefinition",
		ShortNames: []string{"crd", "crds"},
		Categories: []string{"api-extensions"},
		Endpoints: []kind.Endpoint{
			{Group: apiextensionsv1.GroupName, Version: "v1"},
			{Group: apiextensionsv1.GroupName, Version: "v1beta1", Deprecated: "apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, unavailable in v1.22+; use apiextensions.k8s.io/v1 CustomResourceDefinition"},
		},
		Subresources: []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
		Generation:   true, ConditionalUpdate: true,
	}
}

// definitions remembers of an object the version that it was sent in, since v1beta1 asks for less than v1: until it is
// encoded, an object from v1beta1 carries that apiVersion beside its hub content.
type definitions struct {
	*kind.Typed[definition, *definition]
}

var _ kind.Kind = (*definitions)(nil)

// DecodeRequest implements kind.Kind.
func (d *definitions) DecodeRequest(form object.Form, body []byte, lenient bool) (kind.Object, []string, error) {
	obj, strict, err := d.Typed.DecodeRequest(form, body, lenient)
	if err != nil {
		return nil, nil, err
	}
	if form.APIVersion == legacy {
		obj.(*definition).APIVersion = legacy
	}
	return obj, strict, nil
}

// Encode implements object.Codec.
func (d *definitions) Encode(form object.Form, obj runtime.Object) ([]byte, error) {
	if crd := obj.(*definition); fromV1beta1(crd) {
		plain := *crd
		plain.APIVersion = hub
		obj = &plain
	}
	return d.Typed.Encode(form, obj)
}

// fromV1beta1 says that a write came through v1beta1.
func fromV1beta1(crd *definition) bool { return crd.APIVersion == legacy }

// prepare adds the storage version to the versions that objects may be stored in.
func prepare(crd, _ *definition, sub string) {
	if sub == "status" {
		return
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			addStored(crd, v.Name)
			return
		}
	}
}

func addStored(crd *definition, version string) {
	for _, stored := range crd.Status.StoredVersions {
		if stored == version {
			return
		}
	}
	crd.Status.StoredVersions = append(crd.Status.StoredVersions, version)
}
