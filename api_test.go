package bowline_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update", false, "write testdata/api.txt")

// maxExported bounds the exported identifiers outside internal/.
const maxExported = 500

// TestAPI compares the public API with testdata/api.txt, so that a review sees each change of it. After an intended
// change, run go test . -run TestAPI -update.
//
// The API is that of all packages of the repository except internal ones, programs, and the folders examples, bench
// and compatibility. The test counts packages' functions, types, constants and variables, and the methods of exported
// types and interfaces, each once. An alias of an internal type, and a struct that embeds an unexported type, count
// with the methods of that type. Struct fields are listed but not counted. Everything listed needs a doc comment; a
// comment covers the group of constants, variables or fields that it stands above, up to the next blank line.
func TestAPI(t *testing.T) {
	var lines []string
	total := 0
	for _, folder := range publicFolders(t) {
		api := readAPI(t, folder)
		total += api.counted
		t.Logf("%4d %s", api.counted, folder)
		lines = append(lines, api.lines...)
		for _, missing := range api.undocumented {
			t.Errorf("%s: %s has no doc comment", folder, missing)
		}
	}
	t.Logf("%4d in total, at most %d", total, maxExported)
	if total > maxExported {
		t.Errorf("%d exported identifiers outside internal/, more than %d: make some internal", total, maxExported)
	}
	compareAPI(t, strings.Join(lines, "\n")+"\n")
}

func compareAPI(t *testing.T, got string) {
	t.Helper()
	const golden = "testdata/api.txt"
	if *updateAPI {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	before, now := strings.Split(string(text), "\n"), strings.Split(got, "\n")
	changed := false
	for _, line := range before {
		if !slices.Contains(now, line) {
			changed = true
			t.Errorf("- %s", line)
		}
	}
	for _, line := range now {
		if !slices.Contains(before, line) {
			changed = true
			t.Errorf("+ %s", line)
		}
	}
	if changed {
		t.Error("the public API changed; if that is intended, run go test . -run TestAPI -update")
	}
}

// publicFolders returns the folders of the packages that users can import, in order.
func publicFolders(t *testing.T) []string {
	t.Helper()
	folders := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				folders[filepath.ToSlash(filepath.Dir(path))] = true
			}
			return nil
		}
		name := d.Name()
		private := []string{"internal", "testdata", "cmd", "examples", "bench", "compatibility"}
		if path != "." && (strings.HasPrefix(name, ".") || slices.Contains(private, name)) {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(folders))
}

// An api is what one package exports.
type api struct {
	folder       string
	fset         *token.FileSet
	lines        []string // sorted
	counted      int
	undocumented []string
}

func readAPI(t *testing.T, folder string) *api {
	t.Helper()
	a := &api{folder: folder, fset: token.NewFileSet()}
	files := parseFolder(t, a.fset, folder)
	if len(files) == 0 || files[0].Name.Name == "main" {
		return a
	}
	outer := embedding(files)
	for _, file := range files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if !decl.Name.IsExported() {
					continue
				}
				if decl.Recv == nil || ast.IsExported(receiver(decl)) {
					a.function(decl, "")
					continue
				}
				for _, name := range outer[receiver(decl)] {
					a.function(decl, name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					a.spec(t, file, decl, spec)
				}
			}
		}
	}
	slices.Sort(a.lines)
	slices.Sort(a.undocumented)
	return a
}

// parseFolder parses the files of a package, except its tests, in the order of their names.
func parseFolder(t *testing.T, fset *token.FileSet, folder string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// embedding returns, for each unexported type, the exported structs that embed it and so have its methods.
func embedding(files []*ast.File) map[string][]string {
	outer := map[string][]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			if structure, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range structure.Fields.List {
					if inner := typeName(field.Type); len(field.Names) == 0 && inner != "" && !ast.IsExported(inner) {
						outer[inner] = append(outer[inner], spec.Name.Name)
					}
				}
			}
			return false
		})
	}
	return outer
}

// receiver returns the name of a method's type, without pointer and type parameters.
func receiver(method *ast.FuncDecl) string { return typeName(method.Recv.List[0].Type) }

// typeName returns the name of a type of the package, without pointer and type parameters, or "".
func typeName(expr ast.Expr) string {
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// add records one line of the golden file. doc reports whether the identifier is documented.
func (a *api) add(doc bool, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	a.lines = append(a.lines, cmp.Or(strings.TrimPrefix(a.folder, "."), "bowline")+": "+line)
	if !doc {
		a.undocumented = append(a.undocumented, line)
	}
}

// function records a function or method. alias is the public name of its type, if that is an alias or embeds the type.
func (a *api) function(decl *ast.FuncDecl, alias string) {
	a.counted++
	signature := strings.TrimPrefix(a.print(decl.Type), "func")
	switch {
	case decl.Recv == nil:
		a.add(decl.Doc != nil, "func %s%s", decl.Name.Name, signature)
	case alias != "":
		a.add(decl.Doc != nil, "method (%s) %s%s", alias, decl.Name.Name, signature)
	default:
		a.add(decl.Doc != nil, "method (%s) %s%s", a.print(decl.Recv.List[0].Type), decl.Name.Name, signature)
	}
}

// spec records the exported names of a declaration of types, constants or variables.
func (a *api) spec(t *testing.T, file *ast.File, decl *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				a.counted++
				a.add(decl.Doc != nil || spec.Doc != nil || spec.Comment != nil, "%s", strings.TrimRight(
					fmt.Sprintf("%s %s %s", decl.Tok, name.Name, a.print(spec.Type)), " "))
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		a.counted++
		documented := spec.Doc != nil || decl.Doc != nil && !decl.Lparen.IsValid()
		if spec.Assign.IsValid() {
			a.add(documented, "type %s = %s", spec.Name.Name, a.print(spec.Type))
			a.aliased(t, file, spec)
			return
		}
		a.add(documented, "type %s%s %s", spec.Name.Name, a.parameters(spec), a.kind(spec.Type))
		a.members(spec.Name.Name, spec.Type)
	}
}

// members records the fields of a struct and the methods of an interface.
func (a *api) members(name string, expr ast.Expr) {
	switch expr := expr.(type) {
	case *ast.StructType:
		covered := 0 // the line up to which the last comment reaches
		for _, field := range expr.Fields.List {
			line := a.fset.Position(field.Pos()).Line
			documented := field.Doc != nil || field.Comment != nil || len(field.Names) == 0 || line <= covered
			if field.Doc != nil || line <= covered {
				covered = a.fset.Position(field.End()).Line + 1
			}
			names := field.Names
			if len(names) == 0 {
				a.add(true, "field %s: %s", name, a.print(field.Type))
			}
			for _, n := range names {
				if n.IsExported() {
					a.add(documented, "field %s.%s %s", name, n.Name, a.print(field.Type))
				}
			}
		}
	case *ast.InterfaceType:
		for _, method := range expr.Methods.List {
			if len(method.Names) == 0 {
				a.add(true, "interface %s: %s", name, a.print(method.Type))
			}
			for _, n := range method.Names {
				if n.IsExported() {
					a.counted++
					a.add(method.Doc != nil || method.Comment != nil, "method (%s) %s%s", name, n.Name,
						strings.TrimPrefix(a.print(method.Type), "func"))
				}
			}
		}
	}
}

// aliased records the fields and methods of an internal type with a public alias.
func (a *api) aliased(t *testing.T, file *ast.File, spec *ast.TypeSpec) {
	t.Helper()
	target := spec.Type
	if index, ok := target.(*ast.IndexExpr); ok {
		target = index.X
	}
	selector, ok := target.(*ast.SelectorExpr)
	if !ok {
		return
	}
	folder := importedFolder(file, a.print(selector.X))
	if !strings.Contains("/"+folder+"/", "/internal/") {
		return
	}
	for _, file := range parseFolder(t, a.fset, folder) {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil && receiver(decl) == selector.Sel.Name && decl.Name.IsExported() {
					a.function(decl, spec.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range decl.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.Name == selector.Sel.Name {
						a.members(spec.Name.Name, s.Type)
					}
				}
			}
		}
	}
}

// importedFolder returns the folder of the package of this repository that file imports under name, or "".
func importedFolder(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		folder, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
		imported := filepath.Base(folder)
		if spec.Name != nil {
			imported = spec.Name.Name
		}
		if ok && imported == name {
			return folder
		}
	}
	return ""
}

// parameters returns the type parameters of a type, in brackets.
func (a *api) parameters(spec *ast.TypeSpec) string {
	if spec.TypeParams == nil {
		return ""
	}
	var parts []string
	for _, field := range spec.TypeParams.List {
		for _, name := range field.Names {
			parts = append(parts, name.Name+" "+a.print(field.Type))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// kind returns a type's expression, without the members of a struct or an interface.
func (a *api) kind(expr ast.Expr) string {
	switch expr.(type) {
	case *ast.StructType:
		return "struct"
	case *ast.InterfaceType:
		return "interface"
	}
	return a.print(expr)
}

// print returns the source of an expression on one line.
func (a *api) print(expr ast.Expr) string {
	if expr == nil {
		return ""
	}
	var out bytes.Buffer
	if err := printer.Fprint(&out, a.fset, expr); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
