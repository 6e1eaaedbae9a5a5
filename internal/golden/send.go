package golden

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// Send sends a step's request to a server and returns the response with its parsed body, which the caller may
// modify. names contains the values that earlier steps have saved; Send adds those that this step saves.
func Send(t testing.TB, config *rest.Config, step Step, names map[string]string) (status int, body any) {
	t.Helper()
	path := step.Path
	for name, value := range names {
		path = strings.ReplaceAll(path, "{{"+name+"}}", value)
	}
	r, err := http.NewRequestWithContext(t.Context(), step.Method, config.Host+path, strings.NewReader(step.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range step.Headers {
		r.Header.Set(name, value)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&body); err != nil {
		t.Fatalf("%s %s: %v in %s", step.Method, path, err, data)
	}
	for name, path := range step.Save {
		names[name] = Lookup(body, path)
	}
	return response.StatusCode, body
}

// Lookup returns the text at a dotted path in a JSON value, such as items.0.metadata.name, or "" if there is
// none.
func Lookup(v any, path string) string {
	for part := range strings.SplitSeq(path, ".") {
		switch of := v.(type) {
		case map[string]any:
			v = of[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(of) {
				return ""
			}
			v = of[i]
		default:
			return ""
		}
	}
	text, _ := v.(string)
	return text
}
