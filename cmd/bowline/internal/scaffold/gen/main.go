// Command gen renews the generated templates of a new project: go.mod and go.sum with go mod tidy, the deep
// copy functions and the definition with controller-gen. Run it (go generate ./cmd/bowline/internal/scaffold)
// after a change of Bowline's requirements, of the types in the template, or of the version of controller-gen
// (in go.mod.tmpl).
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/scaffold"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	bowline, err := scaffold.RunningBowline()
	if err != nil {
		return err
	}
	// These words must not occur elsewhere in the files, because they are replaced by template actions.
	sample := scaffold.Controller{Name: "samplename", Group: "samplegroup.example", Version: "v1", Kind: "Samplekind",
		Plural: "manyofthem", Bowline: bowline}
	if err := sample.Complete(); err != nil {
		return err
	}
	files, err := sample.Files()
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "bowline-scaffold-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // a temporary folder
	folder := filepath.Join(temporary, sample.Name)
	delete(files, "go.sum") // start with an empty go.sum, without obsolete lines
	if err := scaffold.Write(folder, files); err != nil {
		return err
	}
	for _, arguments := range [][]string{{"mod", "tidy"}, {"generate", "./..."}} {
		command := exec.Command("go", arguments...)
		command.Dir, command.Stdout, command.Stderr = folder, os.Stdout, os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("go %s: %w", arguments, err)
		}
	}
	return writeTemplates(folder, sample)
}

// writeTemplates replaces the sample names in the generated files by template actions, and writes the templates.
func writeTemplates(folder string, sample scaffold.Controller) error {
	templates := map[string]struct {
		from  string
		words []string // pairs of strings to replace and their replacements
	}{
		"go.mod.tmpl": {"go.mod", []string{"replace github.com/bowline-dev/bowline => " + sample.Bowline.Folder + "\n",
			""}},
		"go.sum.tmpl": {"go.sum", nil},
		"deepcopy.go.tmpl": {"api/v1/zz_generated.deepcopy.go", []string{
			"package v1", "package {{.Version}}", // import aliases below are needed only if the package is v1
			`metav1 "`, `{{if eq .Version "v1"}}metav1 {{end}}"`, "metav1.", `{{if eq .Version "v1"}}meta{{end}}v1.`,
			sample.Kind, "{{.Kind}}",
		}},
		"definition.yaml.tmpl": {sample.Definition(), []string{
			sample.Kind + "List\n", "{{.Kind}}List\n", "kind: " + sample.Kind, "kind: {{yaml .Kind}}", sample.Kind,
			"{{.Kind}}",
			"singular: " + sample.Singular(), "singular: {{yaml .Singular}}", "plural: " + sample.Plural,
			"plural: {{yaml .Plural}}",
			"group: " + sample.Group, "group: {{yaml .Group}}", "name: " + sample.Plural + "." + sample.Group,
			"name: {{.Plural}}.{{.Group}}",
			"    name: v1\n", "    name: {{.Version}}\n",
		}},
	}
	for name, made := range templates {
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(made.from)))
		if err != nil {
			return err
		}
		text = []byte(strings.NewReplacer(made.words...).Replace(string(text)))
		if err := os.WriteFile(filepath.Join("templates", "controller", name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
