package main

import (
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCapture sets a variable to the output of the last command, without the final newline.
//
//	capture VARIABLE
func cmdCapture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: capture VARIABLE")
	}
	ts.Setenv(args[0], strings.TrimSuffix(ts.ReadFile("stdout"), "\n"))
}

// placeholders match the parts of a transcript's line that vary between runs.
var placeholders = map[string]string{
	"<age>":  `(<invalid>|\d+[smhd](\d+[smhd])?|<unknown>)`,
	"<uid>":  `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
	"<time>": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`,
	"<n>":    `\d+`,
	"<any>":  `.*`,
}

var blanks = regexp.MustCompile(`[ \t]+`)

// cmdLike compares the output of the last command, or a FILE, with a transcript line by line. Sequences of
// blanks are equal.
//
//	like TRANSCRIPT [FILE]
func cmdLike(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: like TRANSCRIPT [FILE]")
	}
	source := "stdout"
	if len(args) == 2 {
		source = args[1]
	}
	want, got := linesOf(ts.ReadFile(args[0])), linesOf(ts.ReadFile(source))
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			ts.Fatalf("line %d is not in %s: %q", i+1, args[0], got[i])
		case i >= len(got):
			ts.Fatalf("missing line %d of %s: %q", i+1, args[0], want[i])
		case !lineIsLike(got[i], want[i]):
			ts.Fatalf("line %d:\ngot  %q\nwant %q", i+1, got[i], want[i])
		}
	}
}

func linesOf(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

func lineIsLike(got, want string) bool {
	pattern := regexp.QuoteMeta(plain(want))
	for name, expression := range placeholders {
		pattern = strings.ReplaceAll(pattern, regexp.QuoteMeta(name), expression)
	}
	return regexp.MustCompile("^" + pattern + "$").MatchString(plain(got))
}

func plain(line string) string {
	return strings.TrimRight(blanks.ReplaceAllString(line, " "), " ")
}
