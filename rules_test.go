package bowline_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/bowline-dev/bowline"

// mayImport lists, for each folder, which of the project's folders it may import beside itself and what lies below it.
// Data flows one way: object < kind < patch < admission < server, object < store < server, auth < server,
// object < client < informer < controller < controllers, node and examples, workqueue < controller, all < bowline <
// bowlinetest, cmd. What several of them need and none of the project's users should call is in internal, which
// imports nothing of the project.
var mayImport = map[string][]string{
	"object":    {}, // internal/object, and the public names of it
	"kind":      {"object", "internal"},
	"patch":     {"object", "kind"},
	"admission": {"object", "kind", "patch"},
	"plugins":   {"object", "kind", "patch", "admission", "quota", "internal"},
	"quota":     {},
	"store":     {"object", "internal"},
	"auth":      {"object", "internal"},
	"storage":   {"store"},
	"server": {"object", "kind", "patch", "admission", "plugins", "store", "auth", "wire", "client",
		"inprocess", "internal"},
	"wire":        {"object", "internal"},
	"inprocess":   {"internal"}, // internal/inflight
	"client":      {"object", "inprocess", "wire", "internal"},
	"why":         {"object", "client", "internal"},
	"informer":    {"object", "wire", "client"},
	"workqueue":   {},
	"controller":  {"object", "client", "informer", "workqueue", "inprocess", "why", "internal"}, // internal/election
	"discovery":   {"client"},
	"controllers": {"object", "client", "informer", "workqueue", "controller", "discovery", "quota"},
	"node":        {"object", "client", "informer", "workqueue", "controller"},
	// the suites of their tests
	"examples": {"object", "client", "informer", "workqueue", "controller", "bowlinetest"},
	".": {"object", "kind", "patch", "admission", "plugins", "store", "auth", "server", "client", "inprocess",
		"informer", "workqueue", "controller", "controllers", "internal"},
	"bowlinetest": {"object", "store", "client", "informer", "workqueue", "controller", "internal"},
	"trial":       {"object", "client", "informer", "controller", "bowlinetest"},
	"adapters":    {"object", "wire", "client", "informer"},
	"cmd":         {"*"},
	"golden":      {"*"},
	"internal":    {},
}

// onlyThere are libraries that one folder alone may link.
var onlyThere = map[string][]string{
	"k8s.io/kubectl":         {"cmd"},
	"k8s.io/cli-runtime":     {"cmd"},
	"go.etcd.io/etcd":        {"internal/store/log/etcd"},
	"k8s.io/kubernetes":      {}, // nor may another module, but for those of fromKubernetes: see below
	"github.com/spf13/cobra": {"cmd"},

	// A library user who keeps nothing on disk links no database: the root leaves it to its caller to open one.
	"github.com/cockroachdb/pebble":     {"internal/store/log/disk"},
	module + "/internal/store/log/disk": {"cmd", "storage"},

	// The library must not link OpenStack.
	"github.com/gophercloud/gophercloud/v2": {"examples/network"},

	"go.opentelemetry.io/otel/exporters": {"cmd"},
	"go.opentelemetry.io/otel/sdk":       {"cmd"},
}

func TestImportsFollowTheMap(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		folder := "."
		if strings.Contains(path, "/") {
			folder = layer(filepath.ToSlash(path))
		}
		allowed, known := mayImport[folder]
		if !known {
			t.Errorf("%s: the folder %s is not on the map; add it to mayImport and to ARCHITECTURE.md", path, folder)
			return
		}
		for _, name := range imports {
			if ours, ok := strings.CutPrefix(name, module+"/"); ok {
				first := layer(ours)
				if first != folder && !slices.Contains(allowed, first) && !slices.Contains(allowed, "*") {
					t.Errorf("%s imports %s, which lies above it", path, ours)
				}
			}
		}
	})
}

// layer is the name by which mayImport knows a path's folder: its first element, or the second where the first is
// internal and mayImport has the second.
func layer(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	if first == "internal" {
		second, _, _ := strings.Cut(rest, "/")
		if _, known := mayImport[second]; known {
			return second
		}
	}
	return first
}

// serverImports lists, for each package of internal/server, which of the others it may import. A request flows down,
// from httpapi to the store.
var serverImports = map[string][]string{
	"": {"*"},
	"httpapi": {"aggregate", "connect", "discovery", "fair", "flow", "metrics", "openapi", "operations", "read", "render",
		"request", "stage", "status", "stored", "tasks", "write"},
	"operations": {"claim", "status", "stored", "tasks"},
	"read":       {"request", "stage", "status", "stored", "tasks"},
	"write":      {"claim", "request", "review", "stage", "status", "stored", "tasks"},
	"connect":    {"request", "stage", "stored", "tasks"},
	"aggregate":  {"connect", "discovery", "openapi", "status", "stored", "tasks"},
	"review":     {"request", "stored"},
	"render":     {"request", "stage", "stored"},
	"crd":        {"status", "stored", "tasks"},
	"expiry":     {"tasks"},
	"flow":       {"fair", "request", "stored", "tasks"},
	"roles":      {"stored"},
	"metrics":    {"fair", "request"},
	"request":    {"stage", "status"},
	"stored":     {"status"},
	"claim":      {"stored"},
	"component":  {"stored"},
	"discovery":  {}, "fair": {}, "openapi": {}, "stage": {}, "status": {}, "tasks": {},
}

// TestServerImportsFlowDown compares the imports among the packages of internal/server with serverImports.
func TestServerImportsFlowDown(t *testing.T) {
	const server = "internal/server"
	eachFile(t, func(path string, imports []string) {
		folder, below := strings.CutPrefix(filepath.ToSlash(filepath.Dir(path)), server)
		folder, inner, _ := strings.Cut(strings.TrimPrefix(folder, "/"), "/")
		if !below || inner != "" { // inner: a generator
			return
		}
		allowed, known := serverImports[folder]
		if !known {
			t.Errorf("%s: add its package to serverImports and to ARCHITECTURE.md", path)
		}
		for _, name := range imports {
			other, ours := strings.CutPrefix(name, module+"/"+server+"/")
			if ours && !slices.Contains(allowed, other) && !slices.Contains(allowed, "*") {
				t.Errorf("%s imports %s, which is not below it", path, name)
			}
			if name == module+"/"+server {
				t.Errorf("%s imports the server, which is above it", path)
			}
		}
	})
}

func TestHeavyLibrariesStayInTheirFolder(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		for _, name := range imports {
			for library, folders := range onlyThere {
				if name != library && !strings.HasPrefix(name, library+"/") {
					continue
				}
				if !slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(path, f+"/") }) {
					t.Errorf("%s imports %s, which only %v may", path, name, folders)
				}
			}
		}
	})
}

// fromKubernetes are the modules that build programs of Kubernetes: kube-apiserver to compare with, and the e2e suite.
// Nothing imports them.
var fromKubernetes = []string{"compatibility/apiserver", "compatibility/conformance"}

// TestNoModuleRequiresKubernetes looks into the other modules too.
func TestNoModuleRequiresKubernetes(t *testing.T) {
	var requiring []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "k8s.io/kubernetes v") ||
			slices.ContainsFunc(fromKubernetes, func(m string) bool { return strings.Contains(string(text), m) }) {
			requiring = append(requiring, filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	})
	if err != nil || !slices.Equal(requiring, fromKubernetes) {
		t.Errorf("%v require k8s.io/kubernetes, want only %v, which no module requires (%v)", requiring, fromKubernetes,
			err)
	}
}

// TestPackagesHaveComments finds packages with no package comment, or with more than one. It ignores
// generated files.
func TestPackagesHaveComments(t *testing.T) {
	comments := map[string]int{}
	walk(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(f) {
			return
		}
		comments[filepath.Dir(path)] += 0
		if f.Doc != nil {
			comments[filepath.Dir(path)]++
		}
	})
	for folder, n := range comments {
		if n != 1 {
			t.Errorf("%s has %d package comments, want 1", folder, n)
		}
	}
}

// TestLinesEndAt120Columns finds longer lines, with tabs of four columns, in the Go files of all modules. Lines that
// cannot be broken are exempt: they contain a string or a directive of the compiler, or a name takes most of the line.
func TestLinesEndAt120Columns(t *testing.T) {
	const columns = 120
	everyFile(t, func(path, text string) {
		raw := false // inside a raw string
		for n, line := range strings.Split(text, "\n") {
			was := raw
			if strings.Count(line, "`")%2 == 1 {
				raw = !raw
			}
			width := len([]rune(strings.ReplaceAll(line, "\t", "    ")))
			if width <= columns || was || raw || strings.ContainsAny(line, "\"`") || strings.Contains(line, "//go:") ||
				strings.Contains(line, "//lint:") {
				continue
			}
			if longest := slices.MaxFunc(strings.Fields(line), func(a, b string) int {
				return len(a) - len(b)
			}); len(longest) < columns/2 {
				t.Errorf("%s:%d has %d columns", path, n+1, width)
			}
		}
	})
}

// TestTypesHaveAtMost30Methods counts the methods of each type, tests included. With -v it prints a table of the packages.
func TestTypesHaveAtMost30Methods(t *testing.T) {
	const limit = 30
	type size struct {
		files, functions int
		methods          map[string]int // by type
	}
	packages := map[string]*size{}
	everyFile(t, func(path, text string) {
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p := packages[filepath.Dir(path)]
		if p == nil {
			p = &size{methods: map[string]int{}}
			packages[filepath.Dir(path)] = p
		}
		p.files++
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				p.functions++
				if fn.Recv != nil {
					p.methods[receiver(fn)]++
				}
			}
		}
	})
	table := &strings.Builder{}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		largest, p := "", packages[folder]
		for name, n := range p.methods {
			if n > p.methods[largest] || n == p.methods[largest] && name < largest {
				largest = name
			}
			if n > limit {
				t.Errorf("%s.%s has %d methods, want at most %d: a part of it is a type of its own", folder, name, n,
					limit)
			}
		}
		fmt.Fprintf(table, "\n%-50s %5d %10d  %3d %s", folder, p.files, p.functions, p.methods[largest], largest)
	}
	t.Logf("files and functions of each package, and the methods of its largest type:%s", table)
}

// everyFile calls f with each Go file of all modules that is not generated.
func everyFile(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() && !strings.HasSuffix(path, ".go"):
			return err
		case d.IsDir():
			if name := d.Name(); path != "." && (name == "testdata" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !strings.Contains(string(text), "DO NOT EDIT") {
			f(path, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eachFile calls f with each file that is no test and what it imports.
func eachFile(t *testing.T, f func(path string, imports []string)) {
	t.Helper()
	walk(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		var imports []string
		for _, spec := range file.Imports {
			imports = append(imports, strings.Trim(spec.Path.Value, `"`))
		}
		f(path, imports)
	})
}

// mapped are the modules, beside that of the library, whose packages are on the map.
var mapped = []string{"cmd/bowline", "examples", "internal/store/log/disk", "storage/disk"}

// walk calls f with each Go file of the library and of the modules on the map.
func walk(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." &&
			(d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || otherModule(path)):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".go"):
			f(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func otherModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil && !slices.Contains(mapped, filepath.ToSlash(folder))
}
