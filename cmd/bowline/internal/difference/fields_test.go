package difference_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/difference"
)

func TestFieldsReturnsChangedPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", `{"a":{"b":1}}`, `{"a":{"b":1}}`, ""},
		{"a value", `{"a":{"b":1,"c":2}}`, `{"a":{"b":3,"c":2}}`, "a.b: 1 -> 3"},
		{"one more", `{"a":{}}`, `{"a":{"b":{"c":1}}}`, "a.b: <nil> -> map[c:1]"},
		{"one less", `{"a":1,"b":2}`, `{"b":2}`, "a: 1 -> <nil>"},
		{"a value that becomes an object", `{"a":1}`, `{"a":{"b":1}}`, "a: 1 -> map[b:1]"},
		{"an element by name", `{"l":[{"name":"x","i":1},{"name":"y","i":1}]}`,
			`{"l":[{"name":"z"},{"name":"y","i":2}]}`,
			"l[x]: map[i:1 name:x] -> <nil>\nl[y].i: 1 -> 2\nl[z]: <nil> -> map[name:z]"},
		{"an element by place", `{"l":[1,2]}`, `{"l":[1,3,4]}`, "l[1]: 2 -> 3\nl[2]: <nil> -> 4"},
		{"names that are not their own", `{"l":[{"name":"x"},{"name":"x"}]}`, `{"l":[{"name":"x"},{"name":"y"}]}`,
			"l[1].name: x -> y"},
		{"another order", `{"a":0,"l":[{"name":"x"},{"name":"y"}]}`, `{"a":1,"l":[{"name":"y"},{"name":"x"}]}`,
			"a: 0 -> 1\nl: [map[name:x] map[name:y]] -> [map[name:y] map[name:x]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var lines []string
			for _, f := range difference.Fields(parse(t, c.before), parse(t, c.after)) {
				lines = append(lines, fmt.Sprintf("%s: %v -> %v", f.Path, f.Before, f.After))
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("%s and %s: got differences\n%s\nwant\n%s", c.before, c.after, got, c.want)
			}
		})
	}
}

func parse(t *testing.T, text string) (content map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return content
}
