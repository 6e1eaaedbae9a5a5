package main

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
)

// logger writes to standard error: lines for people where somebody watches, else text or JSON for programs.
func (f *upFlags) logger(to *screen) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if f.verbose {
		options.Level = slog.LevelDebug
	}
	var handler slog.Handler
	switch {
	case f.logFormat == "json":
		handler = slog.NewJSONHandler(to, options)
	case to.err.forPeople():
		handler = newPeopleLog(to, options.Level)
	default:
		handler = slog.NewTextHandler(to, options)
	}
	return slog.New(handler)
}

// peopleLog is a slog.Handler whose lines begin with what happened: the time of day, the message, and then, faintly, the
// attributes as slog's own text has them.
type peopleLog struct {
	to         *screen
	attributes slog.Handler // writes to line
	line       *line
}

// line is the line that is being written, by one goroutine at a time.
type line struct {
	mu sync.Mutex
	bytes.Buffer
}

func newPeopleLog(to *screen, level slog.Leveler) *peopleLog {
	line := &line{}
	return &peopleLog{to: to, line: line, attributes: slog.NewTextHandler(line, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		},
	})}
}

// Enabled implements slog.Handler.
func (l *peopleLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.attributes.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l *peopleLog) Handle(ctx context.Context, r slog.Record) error {
	l.line.mu.Lock()
	defer l.line.mu.Unlock()
	l.line.Reset()
	if err := l.attributes.Handle(ctx, r); err != nil {
		return err
	}
	text := r.Time.Format("15:04:05 ") + l.to.err.in(colourOf(r.Level), r.Message)
	if attributes := string(bytes.TrimSpace(l.line.Bytes())); attributes != "" {
		text += "  " + l.to.err.in(faint, attributes)
	}
	_, err := l.to.Write([]byte(text + "\n"))
	return err
}

func colourOf(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return red
	case level >= slog.LevelWarn:
		return yellow
	case level >= slog.LevelInfo:
		return ""
	}
	return faint
}

// WithAttrs implements slog.Handler.
func (l *peopleLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &peopleLog{to: l.to, line: l.line, attributes: l.attributes.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (l *peopleLog) WithGroup(name string) slog.Handler {
	return &peopleLog{to: l.to, line: l.line, attributes: l.attributes.WithGroup(name)}
}
