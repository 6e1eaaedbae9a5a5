// Command gen writes types.txt, the types of all built-in kinds in the format of
// internal/patch/ownership/internal/types, from the OpenAPI definitions that internal/server/openapi embeds.
// Developers run it through `go generate ./internal/patch/ownership` after these definitions changed; it is
// not part of a server.
package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/bowline-dev/bowline/internal/patch/ownership/internal/types"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: gen DEFINITIONS.zip TYPES.txt")
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		log.Fatalf("gen: %v", err)
	}
}

func generate(from, to string) error {
	models, err := read(from)
	if err != nil {
		return err
	}
	converted, err := schemaconv.ToSchemaFromOpenAPI(models, false)
	if err != nil {
		return err
	}
	kinds := map[string]string{}
	for name, model := range models {
		if kind := kindOf(model); kind != "" {
			kinds[name] = kind
		}
	}
	text, err := write(converted, kinds)
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(text), 0o644)
}

// read reads the definitions from the archive, which has a file per Go package.
func read(archive string) (map[string]*spec.Schema, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	models := map[string]*spec.Schema{}
	for _, f := range z.File {
		if !strings.HasPrefix(f.Name, "io.k8s.") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		if err := json.NewDecoder(r).Decode(&models); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return models, nil
}

// kindOf returns the kind that a definition describes, as "apps/v1/Deployment". It returns "" for lists and
// for types that requests of every group contain, because they have no field owners.
func kindOf(model *spec.Schema) string {
	var kinds []struct{ Group, Version, Kind string }
	if err := model.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds); err != nil || len(kinds) != 1 {
		return ""
	}
	_, object := model.Properties["metadata"]
	if _, list := model.Properties["items"]; list || !object {
		return ""
	}
	k := kinds[0]
	return strings.TrimPrefix(k.Group+"/"+k.Version+"/"+k.Kind, "/")
}

// write formats the types that kinds refer to, one per line, ordered by name.
func write(all *schema.Schema, kinds map[string]string) (string, error) {
	defs := map[string]schema.TypeDef{}
	for _, def := range all.Types {
		sortFields(def.Map)
		defs[def.Name] = def
	}
	lines := map[string]string{}
	var visit func(name string) error
	visit = func(name string) error {
		if _, done := lines[name]; done {
			return nil
		}
		var err error
		if lines[name], err = types.Line(defs[name], kinds[name]); err != nil {
			return err
		}
		for _, other := range types.References(defs[name].Atom) {
			if err := visit(other); err != nil {
				return err
			}
		}
		return nil
	}
	for name := range kinds {
		if err := visit(name); err != nil {
			return "", err
		}
	}
	sorted := make([]string, 0, len(lines))
	for _, line := range lines {
		sorted = append(sorted, line)
	}
	slices.Sort(sorted)
	return strings.Join(sorted, ""), nil
}

func sortFields(m *schema.Map) {
	if m != nil {
		slices.SortFunc(m.Fields, func(a, b schema.StructField) int { return strings.Compare(a.Name, b.Name) })
	}
}
