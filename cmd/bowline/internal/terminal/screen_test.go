package terminal

import (
	"log/slog"
	"strings"
	"testing"
)

func TestLogPreservesStatusLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := ScreenOfWidth(&out, 80)
	log := NewLogger(s, "text", slog.LevelInfo)
	s.SetStatus("waiting (1s)")
	log.Info("something happened", "to", "whom", "why", "it had to")
	if got := Visible(out.String()); !strings.HasSuffix(got,
		" something happened  to=whom why=\"it had to\"\nwaiting (1s)") {
		t.Errorf("got %q on the terminal, want the status below the log", got)
	}
	s.SetStatus("waiting (2s)")
	s.EndStatus()
	s.SetStatus("waiting (3s)")
	log.Warn("the end")
	if got := Visible(out.String()); !strings.HasSuffix(got, " the end\n") || strings.Contains(got, "waiting") {
		t.Errorf("got %q on the terminal, want no status after EndStatus", got)
	}
}

func TestTerminalLogOmitsTimeAndDebug(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(newColorHandler(ScreenOfWidth(&out, 80), slog.LevelInfo))
	log.Debug("not asked for")
	log.With("a", 1).WithGroup("g").Warn("careful", "msg", "kept in a group")
	if got := Visible(out.String()); len(got) < 9 || got[9:] != "careful  a=1 g.msg=\"kept in a group\"\n" {
		t.Errorf("got log %q, want only the warning, without the date", got)
	}
	if !strings.Contains(out.String(), Yellow+"careful") {
		t.Errorf("got log %q, want a yellow warning", out.String())
	}
}

func TestLogFormatsOutsideTerminals(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"text": "level=INFO msg=hello\n",
		"json": `"level":"INFO","msg":"hello"}` + "\n"} {
		var out, log strings.Builder
		NewLogger(NewScreen(&out, &log), format, slog.LevelInfo).Info("hello")
		if !strings.HasSuffix(log.String(), want) || out.Len() > 0 {
			t.Errorf("%s: got log %q and output %q, want log %q and no output", format, log.String(), out.String(),
				want)
		}
	}
}
