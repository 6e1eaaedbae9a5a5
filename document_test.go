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
	code        = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`|^(    |\t).*?$") // contains no links
	link        = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	goTest      = regexp.MustCompile("(?:cd (\\w+) && )?go test (\\./[\\w./]*|\\.)\\s+-run\\s+('[^']*'|[^\\s`]+)")
	testName    = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
	notInAnchor = regexp.MustCompile(`[^\w\- ]`) // not part of an anchor
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

// TestCommandsRunTests checks that each "go test PACKAGE -run PATTERN" on a page matches a test: the go command also
// prints ok if no test matches.
func TestCommandsRunTests(t *testing.T) {
	t.Parallel()
	commands := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		for _, c := range goTest.FindAllStringSubmatch(read(t, path), -1) {
			commands++
			pattern, _, _ := strings.Cut(strings.Trim(c[3], "'"), "/")
			wanted, err := regexp.Compile(pattern)
			if err != nil {
				t.Errorf("%s: go test %s -run %s: %v", path, c[2], pattern, err)
				continue
			}
			found := false
			for _, file := range testFiles(t, filepath.Join(c[1], c[2])) {
				for _, name := range testName.FindAllStringSubmatch(read(t, file), -1) {
					found = found || wanted.MatchString(name[1])
				}
			}
			if none := pattern == "^$" || pattern == "NONE" || pattern == "xxx"; !found && !none {
				t.Errorf("%s: go test %s -run %s runs no test", path, c[2], pattern)
			}
		}
		return nil
	})
	if err != nil || commands < 10 {
		t.Errorf("%d commands were read, %v", commands, err)
	}
}

// testFiles returns the test files of a package, or of all packages below a folder for a pattern with /... at its end.
func testFiles(t *testing.T, packages string) []string {
	t.Helper()
	dir, below := strings.CutSuffix(packages, "/...")
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && !below:
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return files
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
		if strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
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
