package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/expansion"
)

// Parse reads all documents of a file: YAML documents separated by lines of ---, or concatenated JSON values.
// Items of a List become separate objects. For each document that cannot be read it returns an *Error, and
// continues with the others.
func Parse(file string, text []byte) ([]Declared, []error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	parts, failures := split(file, text)
	var declared []Declared
	for _, part := range parts {
		found, err := part.objects()
		if err != nil {
			failures = append(failures, err)
			continue
		}
		declared = append(declared, found...)
	}
	return declared, failures
}

// document is the text of one document and its location.
type document struct {
	source Source
	json   bool
	text   []byte
}

func split(file string, text []byte) ([]document, []error) {
	start := bytes.TrimLeft(text, " \t\r\n")
	if filepath.Ext(file) == ".json" || bytes.HasPrefix(start, []byte("{")) {
		return splitJSON(file, text)
	}
	return splitYAML(file, text), nil
}

// splitYAML splits the text at the lines of ---. A document starts at its first line that is neither blank
// nor a comment. Documents without such a line are omitted.
func splitYAML(file string, text []byte) []document {
	var documents []document
	var current document
	for number := 1; len(text) > 0; number++ {
		var line []byte
		line, text = cutLine(text)
		if after, ok := afterSeparator(line); ok {
			documents = appendNonEmpty(documents, current)
			current, line = document{}, after
		}
		if current.source.Line == 0 && hasContent(line) {
			current.source = Source{File: file, Document: len(documents) + 1, Line: number}
			// The parser counts lines from the start of its input, so add a blank line for each preceding
			// line.
			current.text = bytes.Repeat([]byte("\n"), number-1)
		}
		if current.source.Line > 0 {
			current.text = append(current.text, line...)
		}
	}
	return appendNonEmpty(documents, current)
}

// appendNonEmpty appends a document unless it is empty.
func appendNonEmpty(documents []document, d document) []document {
	if d.source.Line == 0 {
		return documents
	}
	return append(documents, d)
}

func cutLine(text []byte) (line, rest []byte) {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return text[:end+1], text[end+1:]
	}
	return text, nil
}

// afterSeparator returns the rest of a line that starts with ---.
func afterSeparator(line []byte) ([]byte, bool) {
	after, ok := bytes.CutPrefix(line, []byte("---"))
	return after, ok && (len(after) == 0 || bytes.ContainsAny(after[:1], " \t\r\n"))
}

// hasContent reports whether the line is neither blank nor a comment.
func hasContent(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '#'
}

// splitJSON splits the text after each value. It stops at invalid JSON, because the start of the next value
// is unknown then.
func splitJSON(file string, text []byte) ([]document, []error) {
	var documents []document
	decoder := json.NewDecoder(bytes.NewReader(text))
	for number := 1; ; number++ {
		begin := decoder.InputOffset()
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		begin += int64(len(text[begin:]) - len(bytes.TrimLeft(text[begin:], " \t\r\n")))
		source := Source{File: file, Document: number, Line: lineAt(text, begin)}
		if err != nil {
			source.Line = lineAt(text, errorOffset(err, int64(len(text))))
			return documents, []error{&Error{Source: source, Err: jsonReason(err)}}
		}
		documents = append(documents, document{source: source, json: true, text: value})
	}
}

// errorOffset returns the offset of a decoding error: end, if the text ended unexpectedly.
func errorOffset(err error, end int64) int64 {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset > 0 {
		return syntax.Offset - 1
	}
	return end
}

func jsonReason(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: unexpected end of input")
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
}

// objects decodes the document, which holds one object or a List of objects.
func (d document) objects() ([]Declared, error) {
	content, err := d.content()
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: content}
	if object.GetKind() == "" || object.GetAPIVersion() == "" {
		return nil, d.fail(errors.New("an object needs apiVersion and kind"))
	}
	if !strings.HasSuffix(object.GetKind(), "List") || !object.IsList() {
		return []Declared{{Object: object, Source: d.source}}, nil
	}
	return d.items(object)
}

// maxExpansion is the maximum size of a YAML document without its aliases, in bytes. A List may contain several objects
// of the largest size that a server accepts.
const maxExpansion = 64 << 20

// content returns the document as a map. Duplicate keys are an error.
func (d document) content() (map[string]any, error) {
	text := d.text
	if !d.json {
		err := expansion.Check(d.text, maxExpansion)
		if err == nil {
			text, err = yaml.YAMLToJSONStrict(d.text)
		}
		if err != nil {
			return nil, d.yamlError(err)
		}
	}
	var value any
	strict, err := kjson.UnmarshalStrict(text, &value, kjson.DisallowDuplicateFields)
	if err == nil && len(strict) > 0 {
		err = errors.Join(strict...)
	}
	if err != nil {
		return nil, d.fail(err)
	}
	content, ok := value.(map[string]any)
	if !ok {
		return nil, d.fail(fmt.Errorf("got %s, want an object", describe(value)))
	}
	return content, nil
}

func describe(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case nil:
		return "null"
	}
	return fmt.Sprintf("the value %v", value)
}

// items returns the items of a List. Items of a typed list such as PodList may omit their kind and API
// version, which follow from the list.
func (d document) items(list *unstructured.Unstructured) ([]Declared, error) {
	items, err := list.ToList()
	if err != nil {
		return nil, d.fail(err)
	}
	declared := make([]Declared, 0, len(items.Items))
	for i := range items.Items {
		item := &items.Items[i]
		if item.GetKind() == "" && list.GetKind() != "List" {
			item.SetAPIVersion(list.GetAPIVersion())
			item.SetKind(strings.TrimSuffix(list.GetKind(), "List"))
		}
		source := d.source
		source.Item = i + 1
		if item.GetKind() == "" || item.GetAPIVersion() == "" {
			return nil, &Error{Source: source, Err: errors.New("an object needs apiVersion and kind")}
		}
		declared = append(declared, Declared{Object: item, Source: source})
	}
	return declared, nil
}

func (d document) fail(err error) error { return &Error{Source: d.source, Err: err} }

var (
	yamlLine      = regexp.MustCompile(`line (\d+): ?`)
	slashComments = regexp.MustCompile(`^\s*//|\s//\s`)
)

// yamlError moves the line number from the parser's message to the source location. It has a message of its
// own for // comments, for which the parser's message is misleading.
func (d document) yamlError(err error) error {
	source := d.source
	if line := d.slashComment(); line > 0 {
		source.Line = line
		return &Error{Source: source, Err: errors.New(`not valid YAML: comments start with "#", not "//"`)}
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	message = strings.TrimSpace(strings.TrimPrefix(message, "unmarshal errors:"))
	if match := yamlLine.FindStringSubmatch(message); match != nil {
		source.Line, _ = strconv.Atoi(match[1])
		message = strings.Replace(message, match[0], "", 1)
	}
	message = strings.ReplaceAll(message, "\n  ", "; ")
	return &Error{Source: source, Err: fmt.Errorf("not valid YAML: %s", message)}
}

// slashComment returns the first line with a // comment, or 0.
func (d document) slashComment() int {
	for i, line := range bytes.Split(d.text, []byte("\n")) {
		if slashComments.Match(line) {
			return i + 1
		}
	}
	return 0
}
