package nginx

import (
	"context"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
)

// entry is a line of nginx's log, as it has been since its first versions:
//
//	2026/11/22 08:47:37 [notice] 11059#11059: start worker process 11062
type entry struct {
	level   string
	process int
	text    string
}

var logLine = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[(\w+)\] (\d+)#\d+: (?:\*\d+ )?(.*)$`)

// parseEntry reads a line. One of another form is all text.
func parseEntry(line string) entry {
	parts := logLine.FindStringSubmatch(line)
	if parts == nil {
		return entry{text: line}
	}
	process, _ := strconv.Atoi(parts[2]) // digits
	return entry{parts[1], process, parts[3]}
}

// fatal says whether nginx does not go on, or not with what it was told to.
func (e entry) fatal() bool { return e.level == "emerg" }

// worker is the process that a message of the master is about, such as "start worker process 11062".
func (e entry) worker(message string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(e.text, message)
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, " ")
	pid, err := strconv.Atoi(digits)
	return pid, err == nil
}

// logTo passes an entry on.
func (e entry) logTo(log *slog.Logger) {
	level := slog.LevelDebug
	switch e.level {
	case "emerg", "alert", "crit":
		level = slog.LevelError
	case "error", "warn":
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "nginx: "+e.text, "pid", e.process)
}
