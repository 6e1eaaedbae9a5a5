package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// generate is the command in README.md.
const generate = "go generate ./examples/sample-controller/..."

// The committed code equals what the generators create from the types: the command is run in a copy of the
// module that contains only these, and the files are compared.
func TestGeneratedCodeIsUpToDate(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil || !bytes.Contains(readme, []byte("\n    "+generate+"\n")) {
		t.Errorf("README.md does not have %q (%v)", generate, err)
	}
	anew := t.TempDir()
	here := filepath.Join(anew, "examples", "sample-controller")
	for _, name := range append(handwritten(t, "pkg/apis"), "../go.mod", "../go.sum", "../../go.mod") {
		copyTo(t, name, filepath.Join(here, name))
	}
	workspace := filepath.Join(anew, "go.work")
	if err := os.WriteFile(workspace, []byte("go 1.26.8\nuse ./examples\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(generate)
	command := exec.CommandContext(t.Context(), words[0], words[1:]...)
	// reduces memory; each generator runs only briefly
	command.Dir, command.Env = anew, append(os.Environ(), "GOWORK="+workspace, "GOGC=off", "GOMEMLIMIT=512MiB")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	committed, made := os.DirFS("pkg"), os.DirFS(filepath.Join(here, "pkg"))
	want, got := generated(t, committed), generated(t, made)
	if !slices.Equal(got, want) || len(got) < 15 {
		t.Fatalf("the tools make %q; there are %q", got, want)
	}
	for _, name := range want {
		if !bytes.Equal(read(t, committed, name), read(t, made, name)) {
			t.Errorf("pkg/%s is not what the tools make: %s", name, generate)
		}
	}
}

// handwritten returns the Go files of a folder that are not generated.
func handwritten(t *testing.T, folder string) (names []string) {
	t.Helper()
	files := os.DirFS(folder)
	made := generated(t, files)
	for _, name := range goFiles(t, files) {
		if !slices.Contains(made, name) {
			names = append(names, filepath.Join(folder, name))
		}
	}
	return names
}

var header = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// generated returns the Go files with a header of generated code.
func generated(t *testing.T, files fs.FS) []string {
	t.Helper()
	return slices.DeleteFunc(goFiles(t, files), func(name string) bool {
		return !header.Match(read(t, files, name))
	})
}

func goFiles(t *testing.T, files fs.FS) (names []string) {
	t.Helper()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".go" {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, files fs.FS, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
