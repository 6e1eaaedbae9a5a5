// Command gen writes definitions.zip, the OpenAPI definitions of all built-in types, from the Go structs in
// k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver, and from Bowline's own structs for
// types that these modules have removed. Developers run it with `go generate ./internal/server/openapi` after
// an update of those modules or a change of the list of packages below. No part of it is linked into a
// server.
//
// It runs openapi-gen, a tool in go.mod, which writes the definitions as Go source into a temporary
// directory. It adds a program there that prints the definitions as JSON, runs the program, and stores its output:
// one file for the definitions of each Go package, so that a document only reads those it needs, "v2" for
// schemas that differ in OpenAPI v2, and "kinds" for the definition of each kind.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// packages hold every type that a built-in kind can contain or that a request can carry. Each API group has a line.
var packages = []string{
	"k8s.io/api/admissionregistration/v1",
	"k8s.io/api/admissionregistration/v1beta1",
	"k8s.io/api/apps/v1",
	"k8s.io/api/apps/v1beta1",
	"k8s.io/api/apps/v1beta2",
	"k8s.io/api/authentication/v1",
	"k8s.io/api/authorization/v1",
	"k8s.io/api/autoscaling/v1",
	"k8s.io/api/autoscaling/v2",
	"k8s.io/api/batch/v1",
	"k8s.io/api/certificates/v1",
	"k8s.io/api/certificates/v1beta1",
	"k8s.io/api/coordination/v1",
	"k8s.io/api/coordination/v1beta1",
	"k8s.io/api/core/v1",
	"k8s.io/api/discovery/v1",
	"k8s.io/api/events/v1",
	"k8s.io/api/extensions/v1beta1",
	"k8s.io/api/flowcontrol/v1",
	"k8s.io/api/networking/v1",
	"k8s.io/api/networking/v1beta1",
	"k8s.io/api/node/v1",
	"k8s.io/api/policy/v1",
	"k8s.io/api/policy/v1beta1",
	"k8s.io/api/rbac/v1",
	"k8s.io/api/resource/v1",
	"k8s.io/api/resource/v1beta1",
	"k8s.io/api/resource/v1beta2",
	"k8s.io/api/scheduling/v1",
	"k8s.io/api/scheduling/v1alpha3", // batch/v1 refers to it
	"k8s.io/api/storage/v1",
	"k8s.io/api/storage/v1beta1",
	"k8s.io/api/storagemigration/v1",
	"k8s.io/api/storagemigration/v1beta1",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1",
	"k8s.io/apimachinery/pkg/api/resource",
	"k8s.io/apimachinery/pkg/apis/meta/v1",
	"k8s.io/apimachinery/pkg/runtime",
	"k8s.io/apimachinery/pkg/util/intstr",
	"k8s.io/apimachinery/pkg/version",
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",

	// What Kubernetes no longer has.
	"github.com/bowline-dev/bowline/internal/kind/builtin/admissionregistration/v1alpha1",
}

// printer is the source of the program that prints the definitions; it is compiled together with the output
// of openapi-gen.
//
//go:embed printer.go.txt
var printer []byte

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE.zip")
	}
	if err := generate(os.Args[1]); err != nil {
		log.Fatalf("gen: %v", err)
	}
}

func generate(file string) error {
	dir, err := os.MkdirTemp(".", "openapi-gen-") // in this module, whose internal packages the program imports
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
	archive, err := pack(definitions)
	if err != nil {
		return err
	}
	return os.WriteFile(file, archive, 0o644)
}

// output runs a command and returns its standard output.
func output(name string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return out.Bytes(), nil
}

// pack returns the archive of the printed definitions. Equal definitions result in equal bytes.
func pack(printed []byte) ([]byte, error) {
	var all struct {
		Schemas   map[string]json.RawMessage
		V2, Kinds json.RawMessage
	}
	if err := json.Unmarshal(printed, &all); err != nil {
		return nil, err
	}
	files := map[string]any{"v2": all.V2, "kinds": all.Kinds}
	for name, s := range all.Schemas {
		of := name[:strings.LastIndexByte(name, '.')]
		if files[of] == nil {
			files[of] = map[string]json.RawMessage{}
		}
		files[of].(map[string]json.RawMessage)[name] = s
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err != nil {
			return nil, err
		}
		if err := json.NewEncoder(f).Encode(files[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
