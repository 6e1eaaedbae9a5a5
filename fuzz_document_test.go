package bowline_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decoding matches calls of the libraries that decode bytes.
var decoding = regexp.MustCompile(`\.(Unmarshal|UnmarshalStrict|UnmarshalCaseSensitivePreserveInts|UnmarshalJSON|DecodeInto|` +
	`NewDecoder|YAMLToJSON|YAMLToJSONStrict|ParseSelector|ParseMediaType|ParseAccept|ParseCertificate|DecodePatch)\(|` +
	`\b(labels\.Parse|pem\.Decode|batchrepr\.Read|protowire\.Consume\w+|jsonpath\.New)\(`)

var fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// TestBytesFromOutside compares the tables of docs/proof.md with the code: each package that decodes bytes is listed,
// and so is each fuzz target.
func TestBytesFromOutside(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "docs/proof.md"), "# How bytes from outside are proven")
	var packages, targets []string
	listed := regexp.MustCompile("`([a-z0-9/-]+)(?:\\.(Fuzz\\w+))?`")
	for line := range strings.Lines(section) {
		columns := strings.Split(line, "|")
		if len(columns) == 5 && strings.Contains(columns[2], "`") != strings.Contains(columns[3], ".Fuzz") {
			t.Errorf("got the row %s, want packages and targets", line)
		}
		for _, name := range listed.FindAllStringSubmatch(line, -1) {
			if name[2] != "" {
				targets = append(targets, name[1]+"."+name[2])
			} else {
				packages = append(packages, name[1])
			}
		}
	}
	decoders, functions := decodersAndTargets(t)
	if len(functions) < 40 || len(decoders) < 40 {
		t.Errorf("found only %d targets and %d packages that decode", len(functions), len(decoders))
	}
	for _, name := range slices.Sorted(maps.Keys(decoders)) {
		if !slices.Contains(packages, name) {
			t.Errorf("%s decodes bytes (%s), and docs/proof.md does not list it: write a fuzz target", name, decoders[name])
		}
	}
	for _, name := range packages {
		if _, err := os.Stat(filepath.FromSlash(name)); err != nil {
			t.Errorf("docs/proof.md lists %s: %v", name, err)
		}
	}
	for _, name := range functions {
		if n := strings.Count(strings.Join(targets, " ")+" ", name+" "); n != 1 {
			t.Errorf("docs/proof.md lists the target %s %d times, want once", name, n)
		}
	}
	for _, name := range targets {
		if !slices.Contains(functions, name) {
			t.Errorf("docs/proof.md lists %s, but there is no such target", name)
		}
	}
}

// decodersAndTargets returns the packages of all modules that decode bytes, with an example of each, and all fuzz
// targets, as PACKAGE.FUNCTION.
func decodersAndTargets(t *testing.T) (decoders map[string]string, targets []string) {
	t.Helper()
	decoders = map[string]string{}
	everyFile(t, func(file, text string) {
		folder := path.Dir(filepath.ToSlash(file))
		if strings.HasSuffix(file, "_test.go") {
			for _, function := range fuzzFunction.FindAllStringSubmatch(text, -1) {
				targets = append(targets, folder+"."+function[1])
			}
		} else if call := decoding.FindString(text); call != "" {
			decoders[folder] = call
		}
	})
	return decoders, targets
}
