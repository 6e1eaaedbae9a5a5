package golden_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// dropped are fields whose values differ between runs; only their presence is compared.
var dropped = fieldSet("uid resourceVersion creationTimestamp deletionTimestamp time lastTransitionTime lastUpdateTime continue " +
	"selfLink clusterIP clusterIPs nodePort observedAt renewTime startTime storageVersionHash hash token expirationTimestamp")

func fieldSet(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// normalize returns a JSON value without what differs between runs.
func normalize(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = normalizeField(k, x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = normalize(x)
		}
		return out
	case string:
		return normalizeText(v)
	}
	return v
}

func normalizeField(name string, v any) any {
	if dropped[name] && !isContainer(v) || name == "clusterIPs" {
		if isZero(v) {
			return v
		}
		return "<set>"
	}
	items, isList := normalize(v).([]any)
	if isList && (name == "managedFields" || name == "causes") { // a real server has no fixed order either
		slices.SortFunc(items, func(a, b any) int { return bytes.Compare(canonical(a), canonical(b)) })
		return items
	}
	return normalize(v)
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case json.Number:
		return v == "0"
	case []any:
		return len(v) == 0
	}
	return false
}

// canonical returns a value, which JSON can express, as JSON with sorted keys.
func canonical(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// listAtEnd matches a text that ends with a list in brackets, which has no fixed order in a real server.
var listAtEnd = regexp.MustCompile(`(?s)^(.*?: )\[(.*)\]\n?\z`)

var replacements = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`^\d+(s|m|h|d)(\d+(s|m|h))?\z`), "<age>"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`), "<address>"},
	{regexp.MustCompile(`:3\d{4}/`), ":<port>/"},
	{regexp.MustCompile(`\b10\.0\.0\.\d+\b`), "<ip>"},
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "-<random>"},
	{regexp.MustCompile(`(in record \()\d+`), "${1}<rv>"},
	{regexp.MustCompile(`(?i)(resource ?version[^0-9]{0,40}?)\d+`), "${1}<rv>"},
}

func normalizeText(s string) string {
	if m := listAtEnd.FindStringSubmatch(s); m != nil {
		items := strings.Split(m[2], ", ")
		slices.Sort(items)
		s = m[1] + strings.Join(items, ", ")
	}
	for _, r := range replacements {
		s = r.pattern.ReplaceAllString(s, r.by)
	}
	return s
}

// parseBody parses a response: JSON, the events of a watch as a list, or text.
func parseBody(text string) any {
	if v, err := parseJSON(text); err == nil {
		return v
	}
	if !strings.HasPrefix(text, `{"type"`) {
		return text
	}
	events := []any{}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			continue
		}
		event, err := parseJSON(line)
		if err != nil {
			event = line
		}
		events = append(events, event)
	}
	return events
}

// parseJSON parses a text that consists of one JSON value. Numbers remain as they are written.
func parseJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after a JSON value")
	}
	return v, nil
}
