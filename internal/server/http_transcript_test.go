package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestHTTP sends the requests of each transcript in testdata/http to a plane of its own, and compares the answers. A
// request is a line with method, path and an optional body in one line; @NAME is a body in a file of the transcript.
// Lines with headers may follow:
//
//	A config map is stored.
//
//	> POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"}}
//	< 201 metadata.name="a"
//	> GET /api/v1/namespaces/default/configmaps
//	> Accept: application/yaml
//	< 200 header.Content-Type="application/yaml"
//	> GET /api/v1/namespaces/default/configmaps/b
//	< 404 NotFound "configmaps \"b\" not found"
//
// An answer has its code and the fields that matter, as PATH=JSON; * stands for all items of a list, and null for a
// field that is absent. A failure has its reason and its complete message, in which generated values are replaced.
// All other lines are prose. A body is JSON if it begins with a brace, otherwise YAML; the body of a PATCH is a merge
// patch unless a header states another type.
//
// With BOWLINE_TRANSCRIPT=write, the test writes codes, messages and the values of the listed fields to the files;
// review the diff.
func TestHTTP(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/http/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(text)
			archive.Comment = playHTTP(t, start(t), archive)
			if got := txtar.Format(archive); bytes.Equal(got, text) {
				return
			} else if os.Getenv("BOWLINE_TRANSCRIPT") != "write" {
				compareFile(t, file, string(got))
			} else if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// playHTTP returns the transcript with the actual answers.
func playHTTP(t *testing.T, w *testPlane, archive *txtar.Archive) []byte {
	t.Helper()
	bodies := map[string]string{"widgets.yaml": widgetDefinition}
	for _, f := range archive.Files {
		bodies[f.Name] = string(f.Data)
	}
	var out bytes.Buffer
	var request []string // method, path, body
	var headers []string
	send := func(wanted string) {
		if request == nil {
			return
		}
		body := request[2]
		if name, ok := strings.CutPrefix(body, "@"); ok {
			if body, ok = bodies[name]; !ok {
				t.Fatalf("the transcript has no file %s", name)
			}
		}
		contentType := yamlType
		if request[0] == http.MethodPatch {
			contentType = mergeType
		} else if body == "" || body[0] == '{' {
			contentType = jsonType
		}
		r := w.send(t, request[0], request[1], body, append([]string{"Content-Type", contentType}, headers...)...)
		fmt.Fprintf(&out, "< %s\n", answerLine(t, r, wanted))
		request, headers = nil, nil
	}
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSuffix(line, "\n")
		text, sent := strings.CutPrefix(line, "> ")
		name, value, _ := strings.Cut(text, " ")
		switch wanted, answered := strings.CutPrefix(line, "< "); {
		case answered:
			send(wanted)
			continue
		case sent && strings.HasSuffix(name, ":"):
			headers = append(headers, strings.TrimSuffix(name, ":"), value)
		case sent:
			send("")
			path, body, _ := strings.Cut(value, " ")
			request = []string{name, path, body}
		default:
			send("")
		}
		out.WriteString(line + "\n")
	}
	send("")
	return out.Bytes()
}

// answerLine formats an answer with the fields that the wanted line has.
func answerLine(t *testing.T, r response, wanted string) string {
	t.Helper()
	out := strconv.Itoa(r.code)
	var status metav1.Status
	if json.Unmarshal(r.body, &status) == nil && status.Kind == "Status" && status.Status == metav1.StatusFailure {
		if int(status.Code) != r.code || status.APIVersion != "v1" {
			t.Errorf("the Status of a %d is %s", r.code, r.body)
		}
		if status.Reason != "" {
			out += " " + string(status.Reason)
		}
		out += " " + strconv.Quote(status.Message)
	}
	for _, path := range fieldPaths(wanted) {
		value := any(nil)
		if name, ok := strings.CutPrefix(path, "header."); ok {
			value = strings.Join(r.header.Values(name), ", ")
		} else if err := json.Unmarshal(r.body, &value); err != nil {
			t.Fatalf("%v: %s", err, r.body)
		} else {
			value = valuesAt(value, strings.Split(path, "."))
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
		out += " " + path + "=" + strings.TrimSuffix(text.String(), "\n")
	}
	return volatile.ReplaceAllString(out, "<>")
}

// fieldPaths returns the paths of the fields in the line of an answer.
func fieldPaths(line string) (paths []string) {
	for len(line) > 0 {
		if line[0] == '"' { // a message
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return paths
			}
			line = strings.TrimLeft(line[len(quoted):], " ")
			continue
		}
		end := strings.IndexAny(line, " =")
		if end < 0 || line[end] == ' ' { // a code or a reason
			_, line, _ = strings.Cut(line, " ")
			continue
		}
		paths = append(paths, line[:end])
		decoder := json.NewDecoder(strings.NewReader(line[end+1:]))
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			_, line, _ = strings.Cut(line, " ")
			continue
		}
		line = strings.TrimLeft(line[end+1+int(decoder.InputOffset()):], " ")
	}
	return paths
}

// valuesAt returns the value at a path, and a list of values for the path of all items of a list.
func valuesAt(value any, path []string) any {
	if len(path) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		return valuesAt(v[path[0]], path[1:])
	case []any:
		if path[0] == "*" {
			all := make([]any, len(v))
			for i, item := range v {
				all[i] = valuesAt(item, path[1:])
			}
			return all
		}
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(v) {
			return valuesAt(v[i], path[1:])
		}
	}
	return nil
}
