package nginx

import (
	"context"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
)

// entry is a line of nginx's log, whose format is stable:
//
//	2026/11/22 08:47:37 [notice] 11059#11059: start worker process 11062
type entry struct {
	level   string
	process int
	text    string
}

var logLine = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[(\w+)\] (\d+)#\d+: (?:\*\d+ )?(.*)$`)

// parseEntry parses a line. A line in another format becomes only the text.
func parseEntry(line string) entry {
	parts := logLine.FindStringSubmatch(line)
	if parts == nil {
		return entry{text: line}
	}
	process, _ := strconv.Atoi(parts[2]) // digits always convert
	return entry{parts[1], process, parts[3]}
}

// fatal reports whether nginx stopped, or rejected a new configuration.
func (e entry) fatal() bool { return e.level == "emerg" }

// worker returns the process ID in a message of the master, such as "start worker process 11062".
func (e entry) worker(message string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(e.text, message)
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, " ")
	pid, err := strconv.Atoi(digits)
	return pid, err == nil
}

// logTo forwards an entry to a logger.
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
