package openapi_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestEveryBuiltinKindHasFields checks that each built-in kind is published with its fields: kubectl apply computes
// patches from them.
func TestEveryBuiltinKindHasFields(t *testing.T) {
	t.Parallel()
	registry := kind.NewRegistry(builtin.Kinds(object.NewCache(0))...)
	client, _ := serve(t, registry)
	for _, g := range registry.Groups() {
		for _, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v}
			published := map[any]int{} // the number of fields of each kind
			for _, s := range specOf(t, client, gv).Components.Schemas {
				kinds, _ := s.Extensions["x-kubernetes-group-version-kind"].([]any)
				for _, k := range kinds {
					if k := k.(map[string]any); k["group"] == g.Name && k["version"] == v {
						published[k["kind"]] = len(s.Properties)
					}
				}
			}
			for _, k := range registry.Kinds() {
				info := k.Info()
				if e := info.Endpoint(gv); e == nil || e.Unserved {
					continue
				}
				for _, name := range []string{info.Kind, info.ListKind()} {
					if published[name] == 0 && (name == info.Kind || info.HasVerb("list")) {
						t.Errorf("%s has no fields for %s", gv, name)
					}
				}
			}
		}
	}
}
