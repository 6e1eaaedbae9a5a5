package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// transcript matches a request in a document, the code of its answer, and the expected fields.
var transcript = regexp.MustCompile("(?s)```http\n([A-Z]+) (\\S+)\n(.*?)\n\n?([0-9]{3})\n(.*?)\n```")

// The requests of docs/versions.md have the documented answers.
func TestVersionsDocument(t *testing.T) {
	t.Parallel()
	followDocument(t, "../../docs/versions.md")
}

// followDocument sends the requests of a document and compares the answers.
func followDocument(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps := transcript.FindAllStringSubmatch(string(text), -1)
	if n := strings.Count(string(text), "```http"); len(steps) != n || n == 0 {
		t.Fatalf("%d of %d requests can be read", len(steps), n)
	}
	w := start(t)
	for _, step := range steps {
		method, path, body := step[1], step[2], strings.TrimSpace(step[3])
		contentType := jsonType
		if method == http.MethodPatch {
			contentType = jsonPatchType
		}
		answer := w.send(t, method, path, body, "Content-Type", contentType)
		if strconv.Itoa(answer.code) != step[4] {
			t.Errorf("%s %s answered %d: %s", method, path, answer.code, answer.body)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(step[5]), &want); err != nil {
			t.Fatalf("%s: %v", step[5], err)
		}
		if missing := missingField(answer.object(t), want, ""); missing != "" {
			t.Errorf("%s %s: %s in %s", method, path, missing, answer.body)
		}
	}
}

// missingField describes where a value lacks what is wanted; null stands for an absent value.
func missingField(got, want any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for name, value := range want {
			if missing := missingField(fields[name], value, path+"."+name); missing != "" {
				return missing
			}
		}
		return ""
	case []any:
		items, _ := got.([]any)
		if len(items) != len(want) {
			return path + " has another length"
		}
		for i := range want {
			if missing := missingField(items[i], want[i], path+"["+strconv.Itoa(i)+"]"); missing != "" {
				return missing
			}
		}
		return ""
	}
	if got != want {
		data, _ := json.Marshal(want)
		return path + " is not " + string(data)
	}
	return ""
}
