package main

import (
	"io"
	"log/slog"
	"strings"
	"testing"
)

// terminalOf is a screen whose report and log go to one terminal of that width.
func terminalOf(to io.Writer, width int) *screen {
	both := terminal{Writer: to, width: func() int { return width }}
	return &screen{out: both, err: both}
}

func TestLogDoesNotDamageTheChangingLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := terminalOf(&out, 80)
	log := (&upFlags{logFormat: "text"}).logger(s)
	s.change("waiting (1s)")
	log.Info("something happened", "to", "whom", "why", "it had to")
	if got := shown(out.String()); !strings.HasSuffix(got, " something happened  to=whom why=\"it had to\"\nwaiting (1s)") {
		t.Errorf("the terminal shows %q", got)
	}
	s.change("waiting (2s)")
	s.settle()
	s.change("waiting (3s)")
	log.Warn("the end")
	if got := shown(out.String()); !strings.HasSuffix(got, " the end\n") || strings.Contains(got, "waiting") {
		t.Errorf("in the end the terminal shows %q", got)
	}
}

func TestLogForPeopleLeavesOutWhatTheyDoNotNeed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(newPeopleLog(terminalOf(&out, 80), slog.LevelInfo))
	log.Debug("not asked for")
	log.With("a", 1).WithGroup("g").Warn("careful", "msg", "kept in a group")
	if got := shown(out.String()); len(got) < 9 || got[9:] != "careful  a=1 g.msg=\"kept in a group\"\n" {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(out.String(), yellow+"careful") {
		t.Errorf("a warning looks like any other: %q", out.String())
	}
}

func TestLogElsewhereIsForPrograms(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"text": "level=INFO msg=hello\n", "json": `"level":"INFO","msg":"hello"}` + "\n"} {
		var out, log strings.Builder
		(&upFlags{logFormat: format}).logger(newScreen(&out, &log)).Info("hello")
		if !strings.HasSuffix(log.String(), want) || out.Len() > 0 {
			t.Errorf("%s: got %q and %q, want %q", format, log.String(), out.String(), want)
		}
	}
}
