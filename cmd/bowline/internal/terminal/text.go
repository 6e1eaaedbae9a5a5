package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/bowline-dev/bowline/internal/printable"
)

// Text may be printed on a terminal: it consists of printable characters, line breaks, and the colors of this
// package. A constant is a Text. Sprintf, Paragraph and Terminal.Color return other ones; a conversion of a
// string does not make it printable.
type Text string

// Sprintf formats like fmt.Sprintf. Each argument that is not a Text becomes one line of printable
// characters, so that only the format breaks lines.
func Sprintf(format string, args ...any) Text {
	for i, arg := range args {
		if _, ok := arg.(Text); !ok {
			args[i] = argument{arg}
		}
	}
	return Text(fmt.Sprintf(format, args...))
}

// argument makes the value of an argument printable after fmt has formatted it.
type argument struct{ value any }

// Format implements fmt.Formatter.
func (a argument) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, printable.Line(fmt.Sprintf(fmt.FormatString(f, verb), a.value)))
}

// Paragraph returns the message of an error. It retains line breaks, because some of our messages have
// several lines, but indents all lines after the first one. So a name in the message cannot forge a line.
func Paragraph(err error) Text {
	return Text(strings.ReplaceAll(printable.Lines(err.Error()), "\n", "\n    "))
}

// PrintError prints the error that ends the program.
func PrintError(to io.Writer, err error) { fmt.Fprintln(to, Sprintf("bowline: %s", Paragraph(err))) }

// Table prints rows with aligned columns, and makes their cells printable.
type Table struct{ columns *tabwriter.Writer }

// NewTable returns a table with the given number of spaces between its columns. The names of the columns are
// its first row.
func NewTable(to io.Writer, gap int, names ...any) *Table {
	t := &Table{tabwriter.NewWriter(to, 0, 0, gap, ' ', 0)}
	t.Row(names...)
	return t
}

// Row adds a row.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = string(Sprintf("%v", cell))
	}
	fmt.Fprintln(t.columns, strings.Join(row, "\t")) // the writer holds the rows, and its errors, until Flush
}

// Flush prints the rows.
func (t *Table) Flush() error { return t.columns.Flush() }
