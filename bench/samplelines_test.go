package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeLinesOfCodeAreCurrent compares the table in the README with the current numbers.
func TestReadmeLinesOfCodeAreCurrent(t *testing.T) {
	t.Parallel()
	theirs, ours, err := sampleLines()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(samplesFolder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("| lines of Go | %.0f | %.0f | %.2f |", theirs.all, ours.all, ours.all/theirs.all),
		fmt.Sprintf("| of which written by hand | %.0f | %.0f | %.2f |", theirs.written, ours.written,
			ours.written/theirs.written),
	} {
		if !strings.Contains(string(readme), row) {
			t.Errorf("the README lacks the current row %s", row)
		}
	}
}
