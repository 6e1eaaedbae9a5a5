package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestProgramLinksTimeZones checks that the program links the time zone database. Loading a zone would
// prove nothing, because the machine that runs the test may have its own database, which takes precedence.
func TestProgramLinksTimeZones(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(out)), "time/tzdata") {
		t.Error("got a program without time/tzdata, want it linked")
	}
}
