package terminal

import "strings"

// Visible returns the text that a terminal finally shows after written was printed to it, without colors.
// Tests use it.
func Visible(written string) string {
	for _, colour := range []string{Red, Green, Yellow, Bold, Faint, Reset} {
		written = strings.ReplaceAll(written, colour, "")
	}
	lines := strings.Split(written, "\n")
	for i, line := range lines {
		lines[i] = line[strings.LastIndex(line, ClearLine)+1:]
		lines[i] = strings.TrimPrefix(lines[i], ClearLine[1:])
	}
	return strings.Join(lines, "\n")
}
