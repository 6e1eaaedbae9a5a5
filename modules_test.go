package bowline_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notInGraph are libraries that other modules of this repository require. A program that imports bowline and
// bowlinetest has none of them in its module graph.
var notInGraph = []string{
	"k8s.io/kubectl", "k8s.io/cli-runtime", "sigs.k8s.io/kustomize/", // cmd/bowline
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp",
	"github.com/cockroachdb/",                                // storage/disk
	"github.com/gophercloud/", "github.com/vishvananda/netl", // examples/network
	"github.com/vishvananda/netns",
	"honnef.co/go/tools", // internal/tools
	"sigs.k8s.io/controller-runtime", "helm.sh/helm/",
}

// requiredByKubernetes are the modules that packages of Kubernetes' libraries import, although the library needs
// nothing of them, each with its importers: docs/decisions/0009-modules.md.
var requiredByKubernetes = map[string][]string{
	"github.com/spf13/cobra": {"k8s.io/component-base"},
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc": {"k8s.io/component-base"},
	"google.golang.org/grpc": {
		"github.com/grpc-ecosystem/grpc-gateway/v2",
		"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc",
		"go.opentelemetry.io/proto/otlp",
		"k8s.io/apiserver",
		"sigs.k8s.io/apiserver-network-proxy/konnectivity-client",
	},
}

// TestModuleGraphOfALibraryUser resolves a program that imports bowline, with a test that imports bowlinetest, in a
// module of its own.
func TestModuleGraphOfALibraryUser(t *testing.T) {
	t.Parallel()
	user := libraryUser(t)
	for module := range strings.Lines(goCommand(t, user, "list", "-m", "all")) {
		if slices.ContainsFunc(notInGraph, func(prefix string) bool { return strings.HasPrefix(module, prefix) }) {
			t.Errorf("the module graph has %s", strings.TrimSpace(module))
		}
	}
	importers := importers(t, user)
	for module, want := range requiredByKubernetes {
		if got := slices.Sorted(maps.Keys(importers[module])); !slices.Equal(got, want) {
			t.Errorf("%s is imported by packages of %q, and docs/decisions/0009-modules.md has %q", module, got, want)
		}
	}
}

// libraryUser creates the module in a temporary folder, and returns the folder. As go mod tidy would, its go.mod
// lists the requirements of the library; tidy itself may need the network.
func libraryUser(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	_, requirements, _ := strings.Cut(read(t, "go.mod"), "\nrequire (")
	for name, text := range map[string]string{
		"go.mod": "module example.com/user\n\ngo 1.26.8\n\nreplace " + module + " => " + root +
			"\n\nrequire " + module + " v0.0.0\n\nrequire (" + requirements,
		"go.sum":       read(t, "go.sum"),
		"main.go":      "package main\n\nimport _ \"" + module + "\"\n\nfunc main() {}\n",
		"main_test.go": "package main\n\nimport _ \"" + module + "/bowlinetest\"\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// importers maps each module to the other modules whose packages import one of its packages, in the program and its
// tests.
func importers(t *testing.T, folder string) map[string]map[string]bool {
	t.Helper()
	moduleOf, imports := map[string]string{}, map[string][]string{}
	const format = `{{with .Module}}{{.Path}}{{end}} {{.ImportPath}} {{join .Imports " "}}`
	for line := range strings.Lines(goCommand(t, folder, "list", "-deps", "-test", "-f", format, "./...")) {
		if fields := strings.Fields(line); line[0] != ' ' { // not a package of the standard library
			moduleOf[fields[1]], imports[fields[1]] = fields[0], fields[2:]
		}
	}
	found := map[string]map[string]bool{}
	for importer, paths := range imports {
		for _, path := range paths {
			of, by := moduleOf[path], moduleOf[importer]
			if of == "" || of == by {
				continue
			}
			if found[of] == nil {
				found[of] = map[string]bool{}
			}
			found[of][by] = true
		}
	}
	return found
}

// goCommand runs the go command outside of the workspace, and returns its output.
func goCommand(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir, command.Env = folder, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var failed strings.Builder
	command.Stderr = &failed
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, failed.String())
	}
	return string(output)
}
