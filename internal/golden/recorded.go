package golden

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Step is a recorded request with its response, or a pause. testdata/README.md describes the fields.
type Step struct {
	Method     string            `json:"method,omitempty"`
	Path       string            `json:"path,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Body       string            `json:"body,omitempty"`
	Save       map[string]string `json:"save,omitempty"`
	StatusOnly bool              `json:"status_only,omitempty"`
	Subset     []string          `json:"subset,omitempty"`
	Sleep      float64           `json:"sleep,omitempty"` // seconds
	Response   Response          `json:"response,omitzero"`
}

// Response is a recorded response. Header names are in lower case.
type Response struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	// Body is JSON: an object, a list of the events of a watch, or a quoted text.
	Body json.RawMessage `json:"body"`
}

// JSON returns the parsed body, which the caller may modify.
func (r *Response) JSON(t testing.TB) any {
	t.Helper()
	return parse(t, r.Body)
}

func parse(t testing.TB, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// File reads a file in testdata, from any directory of the module.
func File(t testing.TB, name string) []byte {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, err := os.ReadFile(filepath.Join(root, "internal", "golden", "testdata", name))
		if err == nil {
			return data
		}
		above := filepath.Dir(root)
		if !os.IsNotExist(err) || above == root {
			t.Fatalf("internal/golden/testdata/%s is in no folder above this test: %v", name, err)
		}
		root = above
	}
}

// Steps returns the steps of a file, such as pods.json.
func Steps(t testing.TB, file string) []Step {
	t.Helper()
	var steps []Step
	if err := json.Unmarshal(File(t, file), &steps); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return steps
}

// serverSet lists the fields that differ between runs.
var serverSet = []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "lastTransitionTime"}

// listAtEnd matches a text that ends with a list in brackets, which has no fixed order in a real server.
var listAtEnd = regexp.MustCompile(`(?s)^(.*?: )\[(.*)\]$`)

// Normalize returns a JSON value without what differs between runs: fields that the server sets, and the order of
// lists.
func Normalize(v any) any {
	switch v := v.(type) {
	case map[string]any:
		normalized := map[string]any{}
		for name, value := range v {
			if !slices.Contains(serverSet, name) {
				normalized[name] = Normalize(value)
			}
		}
		return normalized
	case []any:
		normalized := make([]any, len(v))
		for i := range v {
			normalized[i] = Normalize(v[i])
		}
		slices.SortFunc(normalized, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return normalized
	case string:
		if parts := listAtEnd.FindStringSubmatch(v); parts != nil {
			items := strings.Split(parts[2], ", ")
			slices.Sort(items)
			return parts[1] + strings.Join(items, ", ")
		}
	}
	return v
}
