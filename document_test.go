package bowline_test

import (
	"os"
	"strings"
	"testing"
)

// TestPagesShowTheExample: the lines of Go in README.md and in the package comment are those of the example.
func TestPagesShowTheExample(t *testing.T) {
	t.Parallel()
	example := read(t, "example_test.go")
	_, asLibrary, _ := strings.Cut(read(t, "README.md"), "\n## As a library\n")
	asLibrary, _, _ = strings.Cut(asLibrary, "\n## ")
	comment, _, _ := strings.Cut(read(t, "doc.go"), "\n#")
	for page, text := range map[string]string{"README.md": asLibrary, "doc.go": comment} {
		shown := 0
		for line := range strings.Lines(text) {
			code := strings.TrimPrefix(strings.TrimPrefix(line, "    "), "\t")
			if code == line {
				continue
			}
			if shown++; !strings.Contains(example, "\t"+code) {
				t.Errorf("%s has a line that no example runs: %s", page, line)
			}
		}
		if shown < 3 {
			t.Errorf("%s has %d lines of Go", page, shown)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
