package bowline_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

var (
	code    = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`|^(    |\t).*?$") // which links nowhere
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unsaid  = regexp.MustCompile(`[^\w\- ]`) // what an anchor leaves out
)

// TestLinksAreValid follows the links of all pages to files, and to the headings in them.
func TestLinksAreValid(t *testing.T) {
	t.Parallel()
	pages := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		// a part of one in docs
		if filepath.Ext(path) != ".md" ||
			path == filepath.Join("internal", "golden", "compatibility", "differences.md") {
			return nil
		}
		pages++
		for _, l := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, path), ""), -1) {
			if !strings.Contains(l[1], "://") {
				follow(t, path, l[1])
			}
		}
		return nil
	})
	if err != nil || pages < 30 {
		t.Errorf("%d pages were read, %v", pages, err)
	}
}

func follow(t *testing.T, page, target string) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	if file = filepath.Join(filepath.Dir(page), file); strings.HasPrefix(target, "#") {
		file = page
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%s links to %s: %v", page, target, err)
		return
	}
	if anchor == "" {
		return
	}
	for _, h := range heading.FindAllStringSubmatch(read(t, file), -1) {
		if strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
			return
		}
	}
	t.Errorf("%s links to %s, and there is no such heading", page, target)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
