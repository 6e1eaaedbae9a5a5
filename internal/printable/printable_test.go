package printable_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/internal/printable"
)

// hostile are the characters that must not reach a terminal: C0 and C1 control characters, delete, and those that
// break lines or reverse the direction of the text.
func hostile() []rune {
	var all []rune
	for _, span := range [][2]rune{{0, 0x1f}, {0x7f, 0x9f}, {0x2028, 0x202e}, {0x2066, 0x2069}, {0xe0001, 0xe0001}} {
		for r := span[0]; r <= span[1]; r++ {
			all = append(all, r)
		}
	}
	return all
}

func TestControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a plain text, such as ÄÖ, 日本 and 🙂": "a plain text, such as ÄÖ, 日本 and 🙂",
		"a\x1b]0;title\x07b":                 `a\x1b]0;title\ab`,
		"a\u009b2Jb":                         `a\u009b2Jb`,
		"a\u202eb\u2066c":                    `a\u202eb\u2066c`,
		"a\x9bb\xff":                         `a\x9bb\xff`, // not UTF-8, but C1 on a terminal of 8 bits
		"a\r\nb\u2028c\u0085d\te":            "a  b c d e",
		"\ufffd is a character":              "\ufffd is a character",
	} {
		if got := printable.Line(text); got != want {
			t.Errorf("Line(%q): got %q, want %q", text, got, want)
		}
	}
	for _, r := range hostile() {
		text := "a" + string(r) + "b"
		if got := printable.Line(text); printable.Is(text) || !printable.Is(got) || strings.ContainsRune(got, r) {
			t.Errorf("Line(%q): got %q, want it printable", text, got)
		}
	}
	if got, want := printable.Lines("a\x1b\n\tb\rc\n"), "a\\x1b\n\tb c\n"; got != want {
		t.Errorf("Lines: got %q, want %q", got, want)
	}
}

func TestEscapedJSONHasTheSameValue(t *testing.T) {
	t.Parallel()
	value := map[string]string{"a": string(hostile()) + "ä日🙂", "\u009b": "\u202e"}
	text, err := json.MarshalIndent(value, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	escaped := printable.JSON(text)
	for _, r := range hostile() {
		if r != '\n' && r != '\t' && strings.ContainsRune(string(escaped), r) {
			t.Errorf("got %q, want %U escaped", escaped, r)
		}
	}
	var got map[string]string
	if err := json.Unmarshal(escaped, &got); err != nil {
		t.Fatal(err)
	}
	if got["a"] != value["a"] || got["\u009b"] != value["\u009b"] {
		t.Errorf("got %q, want %q", got, value)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[2J\xff\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		line := printable.Line(text)
		if !printable.Is(line) || printable.Line(line) != line {
			t.Errorf("Line(%q): got %q, want it printable, and unchanged by Line", text, line)
		}
		if utf8.ValidString(text) && printable.Is(text) != (line == text) {
			t.Errorf("Line(%q): got %q, and Is reports %t", text, line, printable.Is(text))
		}
	})
}
