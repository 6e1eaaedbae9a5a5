package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The number and length of warnings are limited, because HTTP/2 clients limit the size of headers.
func TestWarningsAreLimited(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	w.create(t, definitionsPath, widgetDefinition)
	for _, c := range []struct {
		name   string
		fields int
		length int
		want   int // maximum number of warnings
	}{
		{"a few", 20, 5, 20},
		{"many", 19_000, 5, 200},
		{"long ones", 30, 3000, 16},
	} {
		var body strings.Builder
		for i := range c.fields {
			fmt.Fprintf(&body, `,"f%05d%s":1`, i, strings.Repeat("x", c.length))
		}
		object := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q}%s}`,
			strings.ReplaceAll(c.name, " ", "-"), body.String())
		r := w.send(t, http.MethodPost, widgetsPath, object).want(t, http.StatusCreated)
		warnings := r.header.Values("Warning")
		if len(warnings) > c.want || len(warnings) == 0 || len(strings.Join(warnings, "")) > 3*4096 {
			t.Errorf("%s: %d warnings, want at most %d", c.name, len(warnings), c.want)
		}
	}
}
