package bowline_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Limits of TestCommentsArePlain, in percent of the sentences. The Go standard library's net/http has 0.1 %.
const (
	maxPlaceholdersTree   = 0.5
	maxPlaceholdersFolder = 1.0
	// Folders with fewer sentences are only counted in the tree: one sentence would decide.
	minSentences = 20
)

// placeholders are words that stand for a noun. A sentence with many of them makes its reader look for the nouns.
var placeholders = func() map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.Fields(`what who whom whose that which those one ones other others it them they none nobody
		somebody whoever whatever so there then such`) {
		words[word] = true
	}
	return words
}()

var (
	sentenceEnd = regexp.MustCompile(`[.:;]\s`)
	word        = regexp.MustCompile(`[a-z']+`)
	generated   = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

// TestCommentsArePlain measures one symptom of comments that are hard to read: sentences of nine words or more in which
// every fourth word is a placeholder. It reads the comments of every module, tests included. A sentence that passes may
// still be bad; CONTRIBUTING.md says how this project writes.
func TestCommentsArePlain(t *testing.T) {
	type count struct{ sentences, unclear int }
	var tree count
	folders := map[string]*count{}
	var found []string
	eachGoFile(t, func(path string, source []byte) {
		folder := folders[filepath.Dir(path)]
		if folder == nil {
			folder = &count{}
			folders[filepath.Dir(path)] = folder
		}
		eachComment(source, func(line int, text string) {
			for _, sentence := range sentences(text) {
				words := word.FindAllString(strings.ToLower(sentence), -1)
				if len(words) < 9 {
					continue
				}
				folder.sentences++
				tree.sentences++
				n := 0
				for _, w := range words {
					if placeholders[w] {
						n++
					}
				}
				if 4*n >= len(words) {
					folder.unclear++
					tree.unclear++
					found = append(found, fmt.Sprintf("%s:%d: %s", path, line, sentence))
				}
			}
		})
	})
	percent := func(c count) float64 { return 100 * float64(c.unclear) / float64(max(c.sentences, 1)) }
	failed := false
	for name, c := range folders {
		if c.sentences >= minSentences && percent(*c) > maxPlaceholdersFolder {
			t.Errorf("%s: %.1f %% of %d sentences are built on placeholders; at most %.1f %% may be",
				name, percent(*c), c.sentences, maxPlaceholdersFolder)
			failed = true
		}
	}
	if percent(tree) > maxPlaceholdersTree {
		t.Errorf("the tree: %.2f %% of %d sentences are built on placeholders; at most %.1f %% may be",
			percent(tree), tree.sentences, maxPlaceholdersTree)
		failed = true
	}
	t.Logf("%.2f %% of %d sentences are built on placeholders", percent(tree), tree.sentences)
	if failed {
		slices.Sort(found)
		t.Logf("name the actor and use the standard term in:\n%s", strings.Join(found, "\n"))
	}
}

// eachGoFile calls f with each Go file of the checkout that a person wrote, in every module.
func eachGoFile(t *testing.T, f func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err == nil && !generated.Match(source) {
			f(filepath.ToSlash(path), source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eachComment calls f with each run of // lines, joined, and the number of its first line. Indented lines are code or
// tables and are left out.
func eachComment(source []byte, f func(line int, text string)) {
	var text []string
	first, n := 0, 0
	flush := func() {
		if first > 0 {
			f(first, strings.Join(text, " "))
		}
		text, first = nil, 0
	}
	lines := bufio.NewScanner(bytes.NewReader(source))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		n++
		comment, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "//")
		if !ok {
			flush()
			continue
		}
		first = cmp.Or(first, n)
		if !strings.HasPrefix(comment, "\t") && !strings.HasPrefix(comment, "   ") {
			text = append(text, strings.TrimSpace(comment))
		}
	}
	flush()
}

// sentences splits a text after full stops, colons and semicolons.
func sentences(text string) []string {
	var all []string
	for {
		at := sentenceEnd.FindStringIndex(text)
		if at == nil {
			return append(all, text)
		}
		all, text = append(all, text[:at[0]+1]), text[at[1]:]
	}
}
