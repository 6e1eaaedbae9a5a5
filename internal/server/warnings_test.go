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
		{"many", 30_000, 5, 200},
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

// Repeated warnings are sent once.
func TestWarningsAreNotRepeated(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"},"x":1,"x":2,"x":3}`).want(t,
		http.StatusCreated)
	if got := strings.Join(r.header.Values("Warning"), "; "); strings.Count(got, "unknown") != 1 {
		t.Errorf("warnings: %s", got)
	}
}

// A create of an existing name warns, as in Kubernetes, which warns before it stores the object.
func TestCreateOfExistingNameWarns(t *testing.T) {
	t.Parallel()
	w := start(t)
	const path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
	const old = `{"metadata":{"name":"i","annotations":{"kubernetes.io/ingress.class":"a"}},"spec":{"rules":[{}]}}`
	for _, query := range []string{"", "", "?dryRun=All"} {
		r := w.send(t, http.MethodPost, path+query, old)
		if got := r.header.Values("Warning"); len(got) != 1 || !strings.Contains(got[0], "ingress.class") {
			t.Errorf("a create%s that was answered %d: warnings %q", query, r.code, got)
		}
	}
	refused := w.send(t, http.MethodPost, path, strings.Replace(old, "{}", `{"host":"_"}`, 1)).want(t,
		http.StatusUnprocessableEntity)
	if got := refused.header.Values("Warning"); len(got) > 0 {
		t.Errorf("a create that the rules refuse: warnings %q", got)
	}
}
