package terminal

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// evil clears the screen, sets the title, forges a line and reverses the text after it.
const evil = "a\x1b[2J\x1b]0;title\x07\u009b31m\r\nBowline serves nothing\u202e"

// evilLine is evil as it may be printed.
const evilLine = `a\x1b[2J\x1b]0;title\a\u009b31m  Bowline serves nothing\u202e`

type evilStringer struct{}

func (evilStringer) String() string { return evil }

func TestArgumentsAreMadePrintable(t *testing.T) {
	t.Parallel()
	type name string
	for _, arg := range []any{evil, name(evil), errors.New(evil), evilStringer{}, []byte(evil)} {
		if got, want := Sprintf("first\n%s.", arg), Text("first\n"+evilLine+"."); got != want {
			t.Errorf("%T: got %q, want %q", arg, got, want)
		}
	}
	if got := Sprintf("%v", []string{evil}); got != "["+evilLine+"]" {
		t.Errorf("a list: got %q", got)
	}
	got := Sprintf("%-4s|%3d|%q|%s", "a", 7, "b\n", time.Second)
	if want := Text(`a   |  7|"b\n"|1s`); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOwnColorsReachTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := ScreenOfWidth(&out, 80)
	s.Println(Sprintf("%s: %s", s.Out.Color(Green, Sprintf("%s", evil)), Red+evil))
	if got, want := out.String(), Green+evilLine+Reset+`: \x1b[31m`+evilLine+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorCannotForgeLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	PrintError(&out, errors.New("the folder a\x1b[2J\nbowline: all is well"))
	if got, want := out.String(), "bowline: the folder a\\x1b[2J\n    bowline: all is well\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTableCellsArePrintable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := NewTable(&out, 2, "NAME", "VALUE")
	table.Row("a\tb\n", 1)
	table.Row("\x1b", evil)
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "NAME  VALUE\na b   1\n\\x1b  "+evilLine+"\n"; got != want {
		t.Errorf("got:\n%q\nwant:\n%q", got, want)
	}
}

func TestLogIsPrintable(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		for _, screen := range []func(*strings.Builder) *Screen{
			func(to *strings.Builder) *Screen { return NewScreen(to, to) },
			func(to *strings.Builder) *Screen { return ScreenOfWidth(to, 80) },
		} {
			var out strings.Builder
			NewLogger(screen(&out), format, slog.LevelInfo).Warn("message "+evil, "attribute", evil, evil, 1)
			got := Visible(out.String())
			if strings.ContainsAny(got, "\x1b\a\u009b\r\u202e") || strings.Count(got, "\n") != 1 {
				t.Errorf("%s: got log %q, want one printable line", format, got)
			}
		}
	}
}

func TestQuotedPathIsPrintable(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]Text{
		"/a/b": "/a/b", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "/日本": "/日本",
		"/a\x1b\n\u202eb'\\": `$'/a\033\012\342\200\256b\'\\'`,
	} {
		if got := ShellQuote(path); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}
