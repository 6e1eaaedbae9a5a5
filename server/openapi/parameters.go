package openapi

import (
	"maps"
	"slices"
)

// parameters are the query parameters of each kind of request. They are the fields of the options that meta/v1 has for
// it, with their descriptions.
type parameters struct {
	list, create, update, patch, delete []parameter
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
	return p, nil
}

// queryParameters leaves out what a query cannot carry: kind, apiVersion and fields that are objects.
func queryParameters(fields map[string]property) []parameter {
	var out []parameter
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		if name == "kind" || name == "apiVersion" || f.Type == "" {
			continue
		}
		if f.Type == "array" { // given once for each item
			f.Type = "string"
		}
		out = append(out, parameter{
			Name: name, In: "query", Description: f.Description,
			Schema: parameterSchema{Type: f.Type, UniqueItems: true},
		})
	}
	return out
}

// pathParameters are what stands in braces in a path.
func pathParameters(namespaced, named bool, kind string) []parameter {
	var out []parameter
	add := func(name, description string) {
		out = append(out, parameter{
			Name: name, In: "path", Description: description, Required: true,
			Schema: parameterSchema{Type: "string", UniqueItems: true},
		})
	}
	if named {
		add("name", "name of the "+kind)
	}
	if namespaced {
		add("namespace", "the namespace that the object is in")
	}
	return out
}
