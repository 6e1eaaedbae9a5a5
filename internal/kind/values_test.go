package kind_test

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/kind"
)

// nested returns lists that are nested in each other.
func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	const max = kind.MaxValues
	for name, test := range map[string]struct {
		text    string
		tooMany bool
	}{
		"a list at the limit":            {"[" + strings.Repeat("1,", max-2) + "1]", false},
		"a list beyond it":               {"[" + strings.Repeat("1,", max) + "1]", true},
		"empty objects":                  {"[" + strings.Repeat("{},", max) + "1]", true},
		"a text of commas":               {`["` + strings.Repeat(",", 10*max) + `"]`, false},
		"a text with quotation marks":    {`["` + strings.Repeat(`\",`, 10*max) + `"]`, false},
		"a text that ends in backslash":  {`["` + strings.Repeat(",", 10*max) + `\\",1]`, false},
		"lists nested at the limit":      {nested(kind.MaxLevels), false},
		"lists nested beyond it":         {nested(kind.MaxLevels + 1), true},
		"many lists beside each other":   {"[" + strings.Repeat("[],", 2*kind.MaxLevels) + "[]]", false},
		"a text of brackets":             {`["` + strings.Repeat("[", 10*kind.MaxLevels) + `"]`, false},
		"values after an escaped escape": {`["\\",` + strings.Repeat("1,", max) + `1]`, true},
	} {
		if err := kind.CheckJSON([]byte(test.text)); (err != nil) != test.tooMany {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
