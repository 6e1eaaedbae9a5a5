package terminal

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/bowline-dev/bowline/internal/printable"
)

// NewLogger returns a logger that writes to the screen's standard error: JSON if format is "json", colored
// lines if standard error is a terminal, and slog's text format otherwise.
func NewLogger(to *Screen, format string, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch {
	case format == "json":
		handler = slog.NewJSONHandler(jsonLines{to}, options)
	case to.Err.IsTerminal():
		handler = newColorHandler(to, options.Level)
	default:
		handler = slog.NewTextHandler(to, options)
	}
	return slog.New(handler)
}

// jsonLines escapes the characters of JSON that are not printable.
type jsonLines struct{ to io.Writer }

// Write implements io.Writer. The data must consist of whole lines.
func (j jsonLines) Write(lines []byte) (int, error) {
	if _, err := j.to.Write(printable.JSON(lines)); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// colorHandler is a slog.Handler for terminals. A line consists of the time of day, the colored message, and
// the faint attributes in slog's text format.
type colorHandler struct {
	to         *Screen
	attributes slog.Handler // writes to buffer
	buffer     *lineBuffer
}

// lineBuffer holds the attributes of the line that is being formatted. The mutex serializes handlers that
// share it.
type lineBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func newColorHandler(to *Screen, level slog.Leveler) *colorHandler {
	line := &lineBuffer{}
	return &colorHandler{to: to, buffer: line, attributes: slog.NewTextHandler(line, &slog.HandlerOptions{
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
func (l *colorHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return l.attributes.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l *colorHandler) Handle(ctx context.Context, r slog.Record) error {
	l.buffer.mu.Lock()
	defer l.buffer.mu.Unlock()
	l.buffer.Reset()
	if err := l.attributes.Handle(ctx, r); err != nil {
		return err
	}
	text := Sprintf("%s %s", r.Time.Format("15:04:05"), l.to.Err.Color(colorOf(r.Level), Sprintf("%s", r.Message)))
	if attributes := bytes.TrimSpace(l.buffer.Bytes()); len(attributes) > 0 {
		text += "  " + l.to.Err.Color(Faint, Sprintf("%s", attributes))
	}
	_, err := l.to.Write([]byte(text + "\n"))
	return err
}

func colorOf(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return Red
	case level >= slog.LevelWarn:
		return Yellow
	case level >= slog.LevelInfo:
		return ""
	}
	return Faint
}

// WithAttrs implements slog.Handler.
func (l *colorHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &colorHandler{to: l.to, buffer: l.buffer, attributes: l.attributes.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (l *colorHandler) WithGroup(name string) slog.Handler {
	return &colorHandler{to: l.to, buffer: l.buffer, attributes: l.attributes.WithGroup(name)}
}
