package expansion_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/expansion"
)

const limit = 1 << 20

func TestCheck(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	for name, test := range map[string]struct {
		document string
		tooLarge bool
	}{
		"no alias":              {document: "a: " + long},
		"a star in a text":      {document: "a: 2*3\nb: '*c'"},
		"some aliases":          {document: "a: &a {b: c}\nd: *a\ne: *a"},
		"a merge key":           {document: "a: &a {b: c}\nd: {<<: *a, e: f}"},
		"a long text, 10 times": {document: "- &a " + long + strings.Repeat("\n- *a", 10)},
		"a long text, often":    {document: "- &a " + long + strings.Repeat("\n- *a", 1_000), tooLarge: true},
		"merged often":          {document: "- &a {b: " + long + "}" + strings.Repeat("\n- {<<: *a}", 1_000), tooLarge: true},
		"tenfold nine times":    {document: nested(9), tooLarge: true},
		"an alias in itself":    {document: "a: &a [b, *a]"},
	} {
		err := expansion.Check([]byte(test.document), limit)
		var tooLarge *expansion.TooLargeError
		if errors.As(err, &tooLarge) != test.tooLarge || !test.tooLarge && err != nil {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if err := expansion.Check([]byte("a: *b"), limit); err == nil {
		t.Error("an unknown anchor is not an error")
	}
}

// nested returns a document in which each line repeats the line before it ten times.
func nested(lines int) string {
	text := "l0: &l0 text\n"
	for i := range lines {
		text += fmt.Sprintf("l%d: &l%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i), 10), ","))
	}
	return text
}
