package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPageIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/compatibility.md")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/compatibility.md is not what the kinds and the known differences make: run go generate "+
			"./internal/golden/compatibility (%v)", err)
	}
}

// TestConformanceTestsExist checks that each test in conformance.md exists in the project. TestHTTP/NAME is the
// transcript NAME.txt of package server.
func TestConformanceTestsExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(conformanceFile)
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	root := os.DirFS("../../..")
	transcripts, err := fs.Glob(root, "internal/server/testdata/http/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range transcripts {
		exists["TestHTTP/"+strings.TrimSuffix(filepath.Base(path), ".txt")] = true
	}
	err = fs.WalkDir(root, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(root, path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			exists[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[\\w/-]+)`").FindAllSubmatch(text, -1)
	if len(named) < 30 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, m := range named {
		if !exists[string(m[1])] {
			t.Errorf("there is no %s", m[1])
		}
	}
}
