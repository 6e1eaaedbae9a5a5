// Package printable makes text from objects, files and servers safe to print on a terminal. Control characters
// would otherwise erase what is on the screen, set the clipboard or forge a line, and other characters reverse the
// direction of the text. The journal of controllers and the bowline command call it. It knows nothing of colors.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Is reports whether a text is one line of printable characters. Line returns such a text unchanged.
func Is(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Line returns a text as one line of printable characters. Line breaks and other white space become spaces. Other
// characters that are not printable, such as escape and those that reverse the direction of the text, become escape
// sequences of Go, as in \x1b and \u202e; so do bytes that are not UTF-8.
func Line(text string) string { return replace(text, "") }

// Lines does the same as Line, but retains line breaks and tabs.
func Lines(text string) string { return replace(text, "\n\t") }

// replace escapes the characters of a text that are neither printable nor in kept.
func replace(text, kept string) string {
	if Is(text) {
		return text
	}
	var to strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&to, `\x%02x`, text[i])
		case unicode.IsPrint(r) || strings.ContainsRune(kept, r):
			to.WriteRune(r)
		case unicode.IsSpace(r):
			to.WriteByte(' ')
		default:
			quoted := strconv.QuoteRune(r)
			to.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return to.String()
}

// JSON escapes the characters of a JSON text that are not printable. Package encoding/json escapes only those below
// U+0020, and U+2028 and U+2029. Outside of strings, JSON has no other characters than printable ones and white space,
// so that the value of the text stays the same.
func JSON(text []byte) []byte {
	to := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case unicode.IsPrint(r) || r == '\n' || r == '\t' || r == '\r':
			to = utf8.AppendRune(to, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			to = fmt.Appendf(to, `\u%04x\u%04x`, high, low)
		default:
			to = fmt.Appendf(to, `\u%04x`, r)
		}
	}
	return to
}
