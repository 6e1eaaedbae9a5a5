// Command compatibility writes docs/compatibility.md: every group, version, resource and verb that a server
// without custom resources serves, derived from its kinds; what a real kube-apiserver serves in addition,
// derived from the recordings; the tests that correspond to Kubernetes' conformance tests (conformance.md);
// and the known differences (differences.md). Developers run it through `go generate ./internal/golden/compatibility`;
// its test fails if the page is outdated.
package main

import (
	"bytes"
	"log"
	"os"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

//go:generate go run . ../../../docs/compatibility.md

// The input files, relative to this folder.
const (
	conformanceFile = "conformance.md"
	differencesFile = "differences.md"
	recordedFile    = "../differences.txt"
	factsFolder     = "../testdata/facts"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: compatibility FILE.md")
	}
	page, err := generate()
	if err == nil {
		err = os.WriteFile(os.Args[1], page, 0o644)
	}
	if err != nil {
		log.Fatalf("compatibility: %v", err)
	}
}

const head = `# Compatibility

<!-- Written by go generate ./internal/golden/compatibility: change internal/golden/compatibility/differences.md or the kinds instead. -->

This page lists what Bowline serves of the Kubernetes API, and where it differs from Kubernetes. The API is that of the
k8s.io libraries in go.mod, v0.37, which is Kubernetes 1.37. ` + "`go test ./internal/golden`" + ` replays the recorded requests and
answers of a real kube-apiserver 1.36, and reports every difference that is not listed here.

`

// generate returns the page.
func generate() ([]byte, error) {
	conformance, err := os.ReadFile(conformanceFile)
	if err != nil {
		return nil, err
	}
	differences, err := os.ReadFile(differencesFile)
	if err != nil {
		return nil, err
	}
	facts, err := readFacts(factsFolder)
	if err != nil {
		return nil, err
	}
	reasons, err := readReasons(recordedFile)
	if err != nil {
		return nil, err
	}
	groups := servedGroups(kind.NewRegistry(builtin.Kinds(object.NewCache(0))...))
	page := bytes.NewBufferString(head)
	writeServed(page, groups)
	writeMissing(page, groups, facts)
	page.Write(conformance)
	page.WriteByte('\n')
	page.Write(differences)
	writeReasons(page, reasons)
	return page.Bytes(), nil
}
