package structural

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"github.com/bowline-dev/bowline/internal/kind"
)

// fieldPath evaluates the JSONPath of a column or a selectable field.
type fieldPath struct {
	// names lists the fields to follow, for a path that consists of dots and names only; most do.
	names []string

	// full evaluates all other paths. It is not safe for concurrent use.
	mu   sync.Mutex
	full *jsonpath.JSONPath
}

// parsePath parses a JSONPath without braces, the form that definitions use.
func parsePath(expression string) (*fieldPath, error) {
	if names := simple(expression); names != nil {
		return &fieldPath{names: names}, nil
	}
	if err := kind.CheckPathCost(expression); err != nil {
		return nil, fmt.Errorf("the path %q is not evaluated: %w", expression, err)
	}
	full := jsonpath.New(expression).AllowMissingKeys(true)
	if err := full.Parse("{" + expression + "}"); err != nil {
		return nil, fmt.Errorf("the path %q cannot be read: %w", expression, err)
	}
	return &fieldPath{full: full}, nil
}

// simple splits a path such as .spec.cidr. For paths with other features of JSONPath it returns nil.
func simple(expression string) []string {
	if !strings.HasPrefix(expression, ".") {
		return nil
	}
	names := strings.Split(expression[1:], ".")
	for _, name := range names {
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return nil
		}
	}
	return names
}

// find returns the first value at the path.
func (p *fieldPath) find(object map[string]any) (value any, found bool) {
	if p.full != nil {
		return p.evaluate(object)
	}
	value = object
	for _, name := range p.names {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = fields[name]; !ok {
			return nil, false
		}
	}
	return value, true
}

func (p *fieldPath) evaluate(object map[string]any) (any, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	results, err := p.full.FindResults(object)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil, false
	}
	if !results[0][0].IsValid() {
		return nil, true
	}
	return results[0][0].Interface(), true
}

// text formats a value as JSONPath does: strings unchanged, lists and objects as JSON.
func text(value any) (string, bool) {
	if s, ok := value.(string); ok {
		return s, true
	}
	var out strings.Builder
	if err := jsonpath.New("cell").PrintResults(&out, []reflect.Value{reflect.ValueOf(value)}); err != nil {
		return "", false
	}
	return out.String(), true
}

// selectable is a field that field selectors may use.
type selectable struct {
	name string
	// path returns nil if the path is invalid; then the field is always empty.
	path func() *fieldPath
}

// selectableFields returns the selectable fields of a version.
func selectableFields(defined []apiextensionsv1.SelectableField) []selectable {
	fields := make([]selectable, 0, len(defined))
	for _, f := range defined {
		path := sync.OnceValue(func() *fieldPath {
			p, _ := parsePath(f.JSONPath)
			return p
		})
		fields = append(fields, selectable{strings.TrimPrefix(f.JSONPath, "."), path})
	}
	return fields
}

// Fields implements kind.Kind. Fields that the object does not have are empty.
func (k *Kind) Fields(obj kind.Object) map[string]string {
	if len(k.fields) == 0 {
		return nil
	}
	values := make(map[string]string, len(k.fields))
	for _, f := range k.fields {
		values[f.name] = ""
		p := f.path()
		if p == nil {
			continue
		}
		if v, _ := p.find(obj.(*unstructured.Unstructured).Object); v != nil {
			values[f.name] = fmt.Sprint(v)
		}
	}
	return values
}
