// Package scaffold makes new projects, for the command bowline new: what is in them, from names that are checked, and a folder
// that is there whole or not at all. It prints nothing.
package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"strings"
	"text/template"

	"github.com/gobuffalo/flect"
	"golang.org/x/mod/module"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

//go:generate go run ./gen

// Controller is a project of a controller of a kind of its own.
type Controller struct {
	// Name is the program's. Group, Version, Kind and Plural are what the server calls the kind, Module what Go calls the project.
	Name, Group, Version, Kind, Plural, Module string
	// Bowline is what the project is built with.
	Bowline Bowline
}

// Complete makes Plural and Module of the other names where they are empty, and checks all of them. The error says which name
// is wrong, and what it has to be.
func (c *Controller) Complete() error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Plural == "" {
		c.Plural = strings.ToLower(flect.Pluralize(c.Kind))
	}
	if c.Module == "" {
		c.Module = c.Group + "/" + c.Name
	}
	return c.checkDerived()
}

// Singular is the kind as kubectl takes it.
func (c *Controller) Singular() string { return strings.ToLower(c.Kind) }

// Named is a name of the kind as kubectl has to be told: with the group, where Kubernetes has a kind of its own that is called so.
func (c *Controller) Named(name string) string {
	for known := range scheme.Scheme.AllKnownTypes() {
		if strings.EqualFold(known.Kind, c.Kind) {
			return name + "." + c.Group
		}
	}
	return name
}

// Program is what go build calls the program: the last element of the module that is no major version.
func (c *Controller) Program() string {
	if named, major, _ := module.SplitPathVersion(c.Module); strings.HasPrefix(major, "/") {
		return path.Base(named)
	}
	return path.Base(c.Module)
}

//go:embed templates
var templates embed.FS

// files say which template makes which file of a controller's project.
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

// Definition is the file that defines the kind.
func (c *Controller) Definition() string { return path.Join("crd", c.Group+"_"+c.Plural+".yaml") }

// Example is the file that declares an object.
func (c *Controller) Example() string { return path.Join("example", c.Singular()+".yaml") }

// Files are those of the project, by their paths in it, with slashes. It builds as it is: what is generated is as controller-gen
// makes it, and go.sum is complete where Bowline.Complete says so.
func (c *Controller) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for from, to := range c.files() {
		text, err := c.render(from)
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", to, err)
		}
		files[to] = text
	}
	var err error
	files["go.mod"], files["go.sum"], err = c.requirements()
	return files, err
}

// render fills in a template.
func (c *Controller) render(name string) ([]byte, error) {
	parsed, err := template.New(name).Funcs(template.FuncMap{"yaml": scalar}).ParseFS(templates, "templates/controller/"+name)
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

// scalar is a text as YAML: a kind may be called No.
func scalar(text string) (string, error) {
	encoded, err := yaml.Marshal(text)
	return strings.TrimSpace(string(encoded)), err
}

// canonical is YAML as controller-gen writes it: where a line is folded, and what is quoted, depends on the names.
func canonical(text []byte) ([]byte, error) {
	var definition any
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(definition)
	return append([]byte("---\n"), text...), err
}
