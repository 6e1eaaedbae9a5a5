// Command gen writes definitions.json.gz, the OpenAPI definitions of all built-in types, from the Go structs in
// k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver. Developers run it through `go generate
// ./server/openapi` after those modules were updated or a package was added to the list below; nothing of it is linked
// into a server.
//
// It lets openapi-gen, a tool in go.mod, write the definitions as Go source into a temporary folder, adds a small
// program that prints them as JSON, runs that, and compresses what it prints.
package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

// packages hold every type that a built-in kind can contain or that a request can carry. Each API group has a line.
var packages = []string{
	"k8s.io/api/apps/v1",
	"k8s.io/api/authentication/v1",
	"k8s.io/api/autoscaling/v1",
	"k8s.io/api/coordination/v1",
	"k8s.io/api/core/v1",
	"k8s.io/api/events/v1",
	"k8s.io/api/policy/v1",
	"k8s.io/api/scheduling/v1",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1",
	"k8s.io/apimachinery/pkg/api/resource",
	"k8s.io/apimachinery/pkg/apis/meta/v1",
	"k8s.io/apimachinery/pkg/runtime",
	"k8s.io/apimachinery/pkg/util/intstr",
	"k8s.io/apimachinery/pkg/version",
}

// printer is the program that prints the definitions; it is compiled together with what openapi-gen writes.
//
//go:embed printer.go.txt
var printer []byte

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE.json.gz")
	}
	if err := generate(os.Args[1]); err != nil {
		log.Fatalf("gen: %v", err)
	}
}

func generate(file string) error {
	dir, err := os.MkdirTemp("", "openapi-gen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "definitions.go")
	args := append([]string{"tool", "openapi-gen", "--output-dir", dir, "--output-pkg", "main",
		"--output-file", filepath.Base(source), "--report-filename", os.DevNull}, packages...)
	if _, err := output("go", args...); err != nil {
		return err
	}
	program := filepath.Join(dir, "printer.go")
	if err := os.WriteFile(program, printer, 0o600); err != nil {
		return err
	}
	definitions, err := output("go", "run", source, program)
	if err != nil {
		return err
	}
	compressed, err := compress(definitions)
	if err != nil {
		return err
	}
	return os.WriteFile(file, compressed, 0o644)
}

// output runs a command and returns what it prints.
func output(name string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return out.Bytes(), nil
}

func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
