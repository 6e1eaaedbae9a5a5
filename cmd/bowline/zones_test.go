package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestTheProgramHasTheTimeZones looks for them in what it is built of: the machine of a test has some of its own, which are asked
// first.
func TestTheProgramHasTheTimeZones(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(out)), "time/tzdata") {
		t.Error("a CronJob with a timeZone is refused on a machine without /usr/share/zoneinfo")
	}
}
