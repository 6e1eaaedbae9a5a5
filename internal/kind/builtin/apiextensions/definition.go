// Package apiextensions defines the kind CustomResourceDefinition, with names, defaults and validation: as
// apiextensions.k8s.io/v1, the stored version, and as v1beta1, which Kubernetes no longer serves but old
// manifests use. Pure functions compute a definition's status: which names are accepted, whether it is
// established, and the progress of its deletion.
//
// The package neither stores nor serves custom resources: the server calls Establish within a write, creates
// the kinds with package internal/kind/structural, and deletes the instances of a deleted definition.
package apiextensions

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

const (
	hub    = "apiextensions.k8s.io/v1"
	legacy = "apiextensions.k8s.io/v1beta1"
)

// definition is a CustomResourceDefinition in the hub version.
type definition = apiextensionsv1.CustomResourceDefinition

// Kinds returns the kinds of the group: customresourcedefinitions. cache bounds the memory for cached
// encodings of all kinds of a server.
func Kinds(cache *object.Cache) []kind.Kind {
	typed := kind.NewTyped(cache, info(), kind.Rules[*definition]{
		Default:  apiextensionsv1.SetObjectDefaults_CustomResourceDefinition,
		Prepare:  prepare,
		Validate: validate,
		Warnings: warnings,
		Columns:  columns(),
		Row:      row,
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
			{Group: apiextensionsv1.GroupName, Version: "v1beta1",
				Deprecated: "apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, unavailable in v1.22+; use apiextensions.k8s.io/v1 CustomResourceDefinition"},
		},
		Subresources: []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
		Generation:   true, ConditionalUpdate: true,
	}
}

// fromV1beta1 reports whether a write came through v1beta1, which has fewer rules than v1 (see kind.Version).
func fromV1beta1(crd *definition) bool { return crd.APIVersion == legacy }

// prepare adds the storage version, the first if there are several, to status.storedVersions.
func prepare(crd, _ *definition, sub string) {
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Storage
	})
	if sub == "status" || at < 0 {
		return
	}
	if name := crd.Spec.Versions[at].Name; !slices.Contains(crd.Status.StoredVersions, name) {
		crd.Status.StoredVersions = append(crd.Status.StoredVersions, name)
	}
}
