package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadExpected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       map[string]string
		err        string
	}{
		{"names with colons", "# a comment\n\n[sig-x] Granular: pods [Conformance]\tneeds RBAC\n",
			map[string]string{"[sig-x] Granular: pods [Conformance]": "needs RBAC"}, ""},
		{"no reason", "# a comment\n[sig-x] pods\n", nil, ":2: invalid line: must be a name, a tab and a reason"},
		{"an empty reason", "[sig-x] pods\t\n", nil, ":1: invalid line: must be a name, a tab and a reason"},
		{"twice", "a\tb\na\tc\n", nil, ":2: listed twice: a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "expected.txt")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readExpected(file)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)) {
				t.Errorf("the error is %v, want %q", err, c.err)
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("read %q, want %q", got, c.want)
			}
		})
	}
}

func TestExpectedCanBeRead(t *testing.T) {
	t.Parallel()
	if _, err := readExpected("expected.txt"); err != nil {
		t.Error(err)
	}
}
