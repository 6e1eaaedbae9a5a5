package kubeconfig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// Error reports a mistake in a kubeconfig, or in a file that it refers to.
type Error struct {
	File  string // the kubeconfig file
	Line  int    // from 1; 0 if the error is about the whole file
	Field string // path of the field, such as users[jane].user.tokenFile; may be empty
	Err   error  // the cause; not nil
}

// Error names the file, the line and the field, as far as they are known, and the cause.
func (e *Error) Error() string {
	var at strings.Builder
	at.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&at, ":%d", e.Line)
	}
	if e.Field != "" {
		at.WriteString(": " + e.Field)
	}
	return at.String() + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// parsedFile is one parsed kubeconfig. client-go parses it too, but does not report lines.
type parsedFile struct {
	path string
	root *yaml.Node
}

// readFiles reads the files that exist. If asked is set, a missing file is an error.
func readFiles(paths []string, required bool) ([]*parsedFile, error) {
	var files []*parsedFile
	for _, path := range paths {
		if path == "" {
			continue
		}
		file, err := readFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !required:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: give --kubeconfig another file", err)
		case err != nil:
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func readFile(path string) (*parsedFile, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, syntaxError(path, data, err)
	}
	file := &parsedFile{path: path, root: &yaml.Node{Kind: yaml.MappingNode, Line: 1}}
	if len(document.Content) > 0 {
		file.root = document.Content[0]
	}
	if err := file.mistyped(file.root, reflect.TypeFor[clientcmdv1.Config](), ""); err != nil {
		return nil, err
	}
	for _, field := range []struct{ name, want string }{{"kind", "Config"}, {"apiVersion", "v1"}} {
		if got := value(file.root, field.name); got != nil && got.Value != field.want {
			return nil, file.errorf(got, field.name, "it is no kubeconfig, which has kind Config and apiVersion v1")
		}
	}
	return file, nil
}

// lineOfSyntax matches the line number, which the YAML library reports only in the text of its errors.
var lineOfSyntax = regexp.MustCompile(`^yaml: line (\d+): `)

// inABlock matches errors about a list or mapping that is not continued correctly. The library counts their
// lines from 0, and reports where the list or mapping begins unless that is the first line.
var inABlock = regexp.MustCompile(`did not find expected ('-' indicator|key|',' or|node content|<document start>)`)

// ofAnchor matches the one error in which the library quotes a value: a value that begins with *, as a token
// may.
var ofAnchor = regexp.MustCompile(`^yaml: unknown anchor '(.*)' referenced$`)

func syntaxError(path string, data []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if match := lineOfSyntax.FindStringSubmatch(err.Error()); match != nil {
		line, _ = strconv.Atoi(match[1])
		text = err.Error()[len(match[0]):]
	}
	if inABlock.MatchString(text) {
		line++
		text = "here, or in what begins here, it does not go on: " + text
	}
	if match := ofAnchor.FindStringSubmatch(err.Error()); match != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+match[1]))
		line = 1 + bytes.Count(before, []byte("\n"))
		text = "a value that begins with * stands for another one, which there is not: put it in quotes"
	}
	return &Error{File: path, Line: line, Err: fmt.Errorf("it is not YAML (is it half written?): %s", text)}
}

// mistyped returns an error for the first value that does not fit its field.
func (f *parsedFile) mistyped(node *yaml.Node, want reflect.Type, field string) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if node.ShortTag() == "!!null" {
		return nil
	}
	switch {
	case want.PkgPath() == "k8s.io/apimachinery/pkg/runtime": // an extension, which may hold anything
		return nil
	case want == reflect.TypeFor[[]byte]():
		return f.notBase64(node, field)
	case want.Kind() == reflect.Struct, want.Kind() == reflect.Map:
		return f.mistypedFields(node, want, field)
	case want.Kind() == reflect.Slice:
		if node.Kind != yaml.SequenceNode {
			return f.errorf(node, field, "want a list, got %s", describe(node))
		}
		return f.mistypedItems(node, want.Elem(), field)
	case want.Kind() == reflect.Bool && describe(node) != "true or false":
		return f.errorf(node, field, "want true or false, got %s", describe(node))
	case want.Kind() == reflect.String && describe(node) != "a string":
		return f.errorf(node, field, "want a string, got %s%s", describe(node), quoteIt(node))
	}
	return nil
}

// mistypedItems checks the items of a list. The names of clusters, contexts, users and extensions must be
// unique; client-go's error for a duplicate would print the whole list, secrets included.
func (f *parsedFile) mistypedItems(node *yaml.Node, want reflect.Type, field string) error {
	lines := map[string]int{}
	for i, item := range node.Content {
		if err := f.mistyped(item, want, fmt.Sprintf("%s[%s]", field, itemName(item, i))); err != nil {
			return err
		}
		if !strings.HasPrefix(want.Name(), "Named") {
			continue
		}
		name := ""
		if node := value(item, "name"); node != nil {
			name = node.Value
		}
		if line, twice := lines[name]; twice {
			return f.errorf(item, field, "the name %q comes twice, here and in line %d: change one, or leave it out",
				name, line)
		}
		lines[name] = item.Line
	}
	return nil
}

// mistypedFields checks the fields of a struct, by their JSON names, or the values of a map.
func (f *parsedFile) mistypedFields(node *yaml.Node, want reflect.Type, field string) error {
	if node.Kind != yaml.MappingNode {
		return f.errorf(node, field, "want fields with values, got %s", describe(node))
	}
	types := map[string]reflect.Type{}
	if want.Kind() == reflect.Struct {
		for structField := range want.Fields() {
			name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
			types[name] = structField.Type
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		t, known := types[name]
		if want.Kind() == reflect.Map {
			t, known = want.Elem(), true
		}
		if !known { // client-go ignores it
			continue
		}
		if err := f.mistyped(node.Content[i+1], t, strings.TrimPrefix(field+"."+name, ".")); err != nil {
			return err
		}
	}
	return nil
}

func (f *parsedFile) notBase64(node *yaml.Node, field string) error {
	if node.Kind != yaml.ScalarNode {
		return f.errorf(node, field, "want a string in base64, got %s", describe(node))
	}
	if _, err := base64.StdEncoding.DecodeString(node.Value); err != nil {
		return f.errorf(node, field, "it is not base64 (is the file half written?): %w", err)
	}
	return nil
}

// describe names the type of a value without printing the value, which may be a secret.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "fields with values"
	}
	switch node.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	}
	if node.Style == 0 && wordsForBool.MatchString(node.Value) {
		return "true or false"
	}
	return "a string"
}

// wordsForBool matches unquoted words that YAML 1.1, and therefore client-go, parses as booleans.
var wordsForBool = regexp.MustCompile(`^(?i:y|yes|n|no|on|off)$`)

func quoteIt(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode {
		return ": put it in quotes"
	}
	return ""
}

// value returns the field of a mapping, or nil.
func value(node *yaml.Node, field string) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == field {
			return node.Content[i+1]
		}
	}
	return nil
}

// itemName returns the name of a list item, or its index if it has none.
func itemName(item *yaml.Node, i int) string {
	if name := value(item, "name"); name != nil && name.Value != "" {
		return name.Value
	}
	return strconv.Itoa(i)
}

// item returns the named entry of one of the lists clusters, contexts and users, or nil.
func (f *parsedFile) item(list, name string) *yaml.Node {
	items := value(f.root, list)
	if items == nil {
		return nil
	}
	for i, item := range items.Content {
		if itemName(item, i) == name {
			return item
		}
	}
	return nil
}

func (f *parsedFile) errorf(node *yaml.Node, field, format string, args ...any) error {
	e := &Error{File: f.path, Field: field, Err: fmt.Errorf(format, args...)}
	if node != nil {
		e.Line = node.Line
	}
	return e
}
