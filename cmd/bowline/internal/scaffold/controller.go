// Package scaffold creates new projects for the command bowline new: it validates names, renders the files
// from templates, and writes the folder atomically. It prints nothing.
package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"strings"
	"text/template"

	"golang.org/x/mod/module"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/gengo/v2/namer"
	"k8s.io/gengo/v2/types"
	"sigs.k8s.io/yaml"
)

//go:generate go run ./gen

// Controller describes a project with a controller of a custom kind.
type Controller struct {
	// Name is the name of the program. Group, Version, Kind and Plural name the kind, and Module is the
	// project's Go module path.
	Name, Group, Version, Kind, Plural, Module string
	// Bowline is the library that the project is built with.
	Bowline Bowline
}

// plurals derives the names of resources as Kubernetes' client generator does.
var plurals = namer.NewAllLowercasePluralNamer(map[string]string{"Endpoints": "Endpoints"})

// Complete derives Plural and Module from the other names if they are empty, and validates all names. The
// error names the invalid value and the rule.
func (c *Controller) Complete() error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Plural == "" {
		c.Plural = plurals.Name(&types.Type{Name: types.Name{Name: c.Kind}})
	}
	if c.Module == "" {
		c.Module = c.Group + "/" + c.Name
	}
	return c.checkDerived()
}

// Singular returns the name of the kind that kubectl accepts.
func (c *Controller) Singular() string { return strings.ToLower(c.Kind) }

// Named returns name as kubectl must be given it: qualified with the group if Kubernetes has a kind of the
// same name.
func (c *Controller) Named(name string) string {
	for known := range scheme.Scheme.AllKnownTypes() {
		if strings.EqualFold(known.Kind, c.Kind) {
			return name + "." + c.Group
		}
	}
	return name
}

// Program returns the name that go build gives the program: the last element of the module path that is not a
// major version.
func (c *Controller) Program() string {
	if named, major, _ := module.SplitPathVersion(c.Module); strings.HasPrefix(major, "/") {
		return path.Base(named)
	}
	return path.Base(c.Module)
}

//go:embed templates
var templates embed.FS

// files maps the templates to the files of the project.
func (c *Controller) files() map[string]string {
	return map[string]string{
		"gitignore.tmpl":         ".gitignore",
		"README.md.tmpl":         "README.md",
		"main.go.tmpl":           "main.go",
		"reconcile.go.tmpl":      "reconcile.go",
		"reconcile_test.go.tmpl": "reconcile_test.go",
		"types.go.tmpl":          path.Join("api", c.Version, "types.go"),
		"deepcopy.go.tmpl":       path.Join("api", c.Version, "zz_generated.deepcopy.go"),
		"definition.yaml.tmpl":   c.Definition(),
		"example.yaml.tmpl":      c.Example(),
	}
}

// Definition returns the path of the CustomResourceDefinition.
func (c *Controller) Definition() string { return path.Join("crd", c.Group+"_"+c.Plural+".yaml") }

// Example returns the path of the manifest of an example object.
func (c *Controller) Example() string { return path.Join("example", c.Singular()+".yaml") }

// Files returns the project's files by slash-separated path. The project builds without further steps:
// generated files are identical to the output of controller-gen, and go.sum is complete if Bowline.LoadSums
// succeeded.
func (c *Controller) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for from, to := range c.files() {
		text, err := c.render(from)
		if err != nil {
			return nil, fmt.Errorf("rendering %s: %w", to, err)
		}
		files[to] = text
	}
	var err error
	files["go.mod"], files["go.sum"], err = c.requirements()
	return files, err
}

// render executes a template.
func (c *Controller) render(name string) ([]byte, error) {
	parsed, err := template.New(name).Funcs(template.FuncMap{"yaml": scalar}).ParseFS(templates,
		"templates/controller/"+name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, c); err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(name, ".go.tmpl"):
		return format.Source(text.Bytes())
	case name == "definition.yaml.tmpl":
		return canonical(text.Bytes())
	}
	return text.Bytes(), nil
}

// scalar returns a text as a YAML scalar, quoted if necessary: a kind may be called No.
func scalar(text string) (string, error) {
	encoded, err := yaml.Marshal(text)
	return strings.TrimSpace(string(encoded)), err
}

// canonical returns YAML in the format of controller-gen. Line folding and quoting depend on the names, so a
// template alone cannot produce it.
func canonical(text []byte) ([]byte, error) {
	var definition any
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(definition)
	return append([]byte("---\n"), text...), err
}
