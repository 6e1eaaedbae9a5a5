package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// answerLine formats the code of an answer, its failure, and the fields at the paths.
func answerLine(t *testing.T, r response, paths []string) string {
	t.Helper()
	out := strconv.Itoa(r.code)
	if status, failed := failureOf(t, r); failed {
		if status.Reason != "" {
			out += " " + string(status.Reason)
		}
		out += " " + quoted(status.Message)
	}
	for _, path := range paths {
		value := any(nil)
		if name, ok := strings.CutPrefix(path, "header."); ok {
			value = strings.Join(r.header.Values(name), ", ")
		} else {
			value = valuesAt(decoded(t, r.body), strings.Split(path, "."))
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
		out += " " + path + "=" + strings.TrimSuffix(text.String(), "\n")
	}
	return out
}

// decoded returns an answer in JSON or YAML, and the events of a watch as a list.
func decoded(t *testing.T, body []byte) (value any) {
	t.Helper()
	if bytes.HasPrefix(body, []byte(`{"type":`)) {
		body = fmt.Appendf(nil, "[%s]", bytes.ReplaceAll(bytes.TrimSpace(body), []byte("\n"), []byte(",")))
	}
	if err := yaml.Unmarshal(body, &value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return value
}

// moreLines formats the warnings of an answer and the causes of a failure.
func moreLines(t *testing.T, r response) (lines []string) {
	t.Helper()
	for _, warning := range r.header.Values("Warning") {
		lines = append(lines, "Warning: "+warning)
	}
	if status, failed := failureOf(t, r); failed && status.Details != nil {
		for _, cause := range status.Details.Causes {
			line := strings.TrimSpace(string(cause.Type) + " " + cause.Field)
			if !strings.Contains(status.Message, cause.Message) {
				line += ": " + quoted(cause.Message)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// failureOf returns the Status of a failure.
func failureOf(t *testing.T, r response) (status metav1.Status, failed bool) {
	t.Helper()
	failed = json.Unmarshal(r.body, &status) == nil && status.Kind == "Status" && status.Status == metav1.StatusFailure
	if failed && (int(status.Code) != r.code || status.APIVersion != "v1") {
		t.Errorf("the Status of a %d is %s", r.code, r.body)
	}
	return status, failed
}

// quoted returns a text in quotes, in backquotes if these need no escapes, and cuts a long one.
func quoted(text string) string {
	if strconv.CanBackquote(text) && len(text) <= 1000 {
		return "`" + text + "`"
	}
	return fmt.Sprintf("%.1000q", text)
}

// fieldPaths returns the paths of the fields in the line of an answer.
func fieldPaths(line string) (paths []string) {
	for len(line) > 0 {
		if line[0] == '"' || line[0] == '`' { // a message
			message, err := strconv.QuotedPrefix(line)
			if err != nil {
				return paths
			}
			line = strings.TrimLeft(line[len(message):], " ")
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

// generatedNames replaces UIDs, revisions and generated names of objects, which differ from run to run, by names with
// numbers.
type generatedNames struct {
	names  map[string]string // by value
	counts map[string]int    // by type
}

// generated matches such values; each group is a type. The letters are those of generateName.
var generated = regexp.MustCompile(`\b(?:(?P<uid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|(?P<revision>1\d{15})|` +
	`(?P<name>[A-Za-z]+[-_][bcdfghjklmnpqrstvwxz2456789]{5}))\b`)

// replace returns the text with names in place of the values.
func (n *generatedNames) replace(text string) string {
	return generated.ReplaceAllStringFunc(text, func(value string) string {
		if n.names[value] == "" {
			groups := generated.FindStringSubmatch(value)
			kind := generated.SubexpNames()[slices.Index(groups[1:], value)+1]
			n.counts[kind]++
			n.names[value] = fmt.Sprintf("<%s-%d>", kind, n.counts[kind])
		}
		return n.names[value]
	})
}

// values returns the text with the values in place of their names.
func (n *generatedNames) values(text string) string {
	for value, name := range n.names {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}
