package main

import (
	"bytes"
	"os"
	"testing"
)

func TestPageIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/compatibility.md is not what the kinds and the known differences make: run go generate ./golden/compatibility (%v)", err)
	}
}
