// Package rbac defines the kinds of the rbac.authorization.k8s.io group: roles and cluster roles, which list rights,
// and the bindings that grant them to users, groups and service accounts. Package internal/server/roles enforces the
// rights, and package internal/server/write prevents users from granting rights that they do not have.
//
// The kinds and their columns are in role.go and binding.go, their rules in the files with the suffix _validate.
// Validation follows Kubernetes 1.37 (pkg/apis/rbac/validation and the declarative rules of pkg/apis/rbac/v1). The
// server validates metadata for all kinds. Package internal/kind/builtin registers the kinds; no other package uses
// this one.
package rbac

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for cached
// encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{clusterRoleBindingKind(cache), clusterRoleKind(cache), roleBindingKind(cache), roleKind(cache)}
}

// info returns the Info of a kind of the group. None of the kinds has a generation or a status.
func info(name string, namespaced bool) kind.Info {
	singular := strings.ToLower(name)
	return kind.Info{
		Kind: name, Plural: singular + "s", Singular: singular,
		Namespaced:     namespaced,
		CreateOnUpdate: true,
		Endpoints:      []kind.Endpoint{{Group: rbacv1.GroupName, Version: "v1"}},
		ValidName:      func(name string, _ bool) []string { return content.IsPathSegmentName(name) },
	}
}
