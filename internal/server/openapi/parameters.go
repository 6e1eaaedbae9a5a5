package openapi

import (
	"maps"
	"slices"
	"strings"
)

// parameters are the query parameters of each type of request: the fields of its options struct in meta/v1,
// with their descriptions.
type parameters struct {
	list, create, update, patch, delete, deleteCollection, pretty []parameter
}

func newParameters(d *definitions) (*parameters, error) {
	p := &parameters{}
	for _, o := range []struct {
		definition string
		into       *[]parameter
	}{
		{"ListOptions", &p.list}, {"CreateOptions", &p.create}, {"UpdateOptions", &p.update},
		{"PatchOptions", &p.patch}, {"DeleteOptions", &p.delete},
	} {
		fields, err := d.properties(metaPrefix + o.definition)
		if err != nil {
			return nil, err
		}
		*o.into = queryParameters(fields)
	}
	collection := slices.DeleteFunc(slices.Clone(p.list), func(q parameter) bool {
		return q.Name == "watch" || q.Name == "allowWatchBookmarks"
	})
	p.deleteCollection = mergeParameters(p.delete, collection)
	p.pretty = queryParameters(map[string]property{"pretty": {
		Type:        "string",
		Description: "If 'true', the answer is indented. It is the default for browsers, curl and wget.",
	}})
	return p, nil
}

// queryParameters leaves out fields that a query cannot contain (kind, apiVersion and objects) and those that
// this server ignores.
func queryParameters(fields map[string]property) []parameter {
	var out []parameter
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		if name == "kind" || name == "apiVersion" || name == "shardSelector" || f.Type == "" {
			continue
		}
		if f.Type == "array" { // repeated for each item
			f.Type = "string"
		}
		out = append(out, parameter{
			Name: name, In: "query", Description: f.Description,
			Schema: parameterSchema{Type: f.Type, UniqueItems: true},
		})
	}
	return out
}

// mergeParameters merges two lists without duplicates, ordered by name.
func mergeParameters(a, b []parameter) []parameter {
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(x, y parameter) int { return strings.Compare(x.Name, y.Name) })
	return slices.CompactFunc(out, func(x, y parameter) bool { return x.Name == y.Name })
}
