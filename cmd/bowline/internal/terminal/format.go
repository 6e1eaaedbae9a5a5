package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/printable"
)

// RoundDuration rounds a duration to about three digits.
func RoundDuration(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}

// FormatDuration formats a duration with two or three digits.
func FormatDuration(d time.Duration) string {
	switch {
	case d >= time.Minute:
		text := d.Round(time.Second).String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		return text
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// FormatSize formats a number of bytes with a binary unit.
func FormatSize(n int) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, names := float64(n)/unit, []string{"KiB", "MiB", "GiB"}
	for size >= unit && len(names) > 1 {
		size, names = size/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %s", size, names[0])
}

// ShellQuote quotes a path for a shell if necessary.
func ShellQuote(path string) Text {
	if !printable.Is(path) {
		return ansiQuote(path)
	}
	if strings.ContainsAny(path, " '\"$&|;<>()*?[]#~`\\!\t\n") {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return Text(path)
}

// ansiQuote quotes a path for a shell with the escape sequences of $'...'.
func ansiQuote(path string) Text {
	var quoted strings.Builder
	for _, b := range []byte(path) {
		switch {
		case b == '\'' || b == '\\':
			quoted.WriteByte('\\')
			quoted.WriteByte(b)
		case b < ' ' || b > '~':
			fmt.Fprintf(&quoted, `\%03o`, b)
		default:
			quoted.WriteByte(b)
		}
	}
	return Text("$'" + quoted.String() + "'")
}
