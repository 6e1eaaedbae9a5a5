package scaffold

import (
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// The templates contain the go.mod and go.sum that go mod tidy produces for a project (go generate renews
// them). A new project therefore builds from the module cache, without network access.
const (
	modTemplate = "templates/controller/go.mod.tmpl"
	sumTemplate = "templates/controller/go.sum.tmpl"
)

// requirements returns the project's go.mod and go.sum.
func (c *Controller) requirements() (mod, sum []byte, err error) {
	file, err := parsedMod()
	if err != nil {
		return nil, nil, err
	}
	err = file.AddModuleStmt(c.Module)
	switch {
	case err != nil:
	case c.Bowline.Version != "":
		err = file.AddRequire(bowlineModule, c.Bowline.Version)
	default:
		err = file.AddReplace(bowlineModule, "", c.Bowline.Folder, "")
	}
	if err != nil {
		return nil, nil, err
	}
	if mod, err = file.Format(); err != nil {
		return nil, nil, err
	}
	sum, err = templates.ReadFile(sumTemplate)
	return mod, c.Bowline.insertSums(sum), err
}

// insertSums inserts a release's checksums into the sorted lines of a go.sum.
func (b *Bowline) insertSums(sum []byte) []byte {
	lines := slices.Collect(strings.Lines(string(sum)))
	index := slices.IndexFunc(lines, func(line string) bool { return line > bowlineModule })
	return []byte(strings.Join(slices.Insert(lines, index, b.sums...), ""))
}

func parsedMod() (*modfile.File, error) {
	text, err := templates.ReadFile(modTemplate)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(modTemplate, text, nil)
}

// requiredModules returns the paths of the modules that a project requires.
func requiredModules() ([]string, error) {
	file, err := parsedMod()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, required := range file.Require {
		paths = append(paths, required.Mod.Path)
	}
	return paths, nil
}
