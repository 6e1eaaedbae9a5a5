package structural

import (
	"encoding/json"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
)

// printer formats objects for the Table of a version.
type printer struct {
	headers []metav1.TableColumnDefinition
	// cells are the columns after the name.
	cells []cell
}

// cell is a column. dataType is its type in the definition.
type cell struct {
	dataType string
	path     *fieldPath
}

// newPrinter parses the columns of a version. Without columns, it shows the age. As in Kubernetes, the
// columns from the first with an invalid path on are omitted.
func (v *definedVersion) newPrinter() *printer {
	columns := v.columns
	if len(columns) == 0 {
		columns = []apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "Age", Type: "date", Description: kind.AgeColumn.Description,
				JSONPath: ".metadata.creationTimestamp"},
		}
	}
	p := &printer{headers: []metav1.TableColumnDefinition{kind.NameColumn}}
	for _, c := range columns {
		path, err := parsePath(c.JSONPath)
		if err != nil {
			break
		}
		description := c.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + c.JSONPath
		}
		p.headers = append(p.headers, metav1.TableColumnDefinition{
			Name: c.Name, Type: c.Type, Format: c.Format, Description: description, Priority: c.Priority,
		})
		p.cells = append(p.cells, cell{c.Type, path})
	}
	return p
}

// row returns the cells of an object. A value that is missing or has another type than its column is nil.
func (p *printer) row(u *unstructured.Unstructured, now time.Time) ([]any, error) {
	if u.Object == nil {
		return nil, fmt.Errorf("an object without content has no row")
	}
	row := make([]any, 1, 1+len(p.cells))
	row[0] = u.GetName()
	for _, c := range p.cells {
		row = append(row, c.show(u.Object, now))
	}
	return row, nil
}

// show returns the value of a cell.
func (c cell) show(object map[string]any, now time.Time) any {
	value, found := c.path.find(object)
	if !found {
		return nil
	}
	switch c.dataType {
	case "string":
		if s, ok := text(value); ok {
			return s
		}
	case "integer":
		return integer(value)
	case "number":
		return number(value)
	case "boolean":
		if b, ok := value.(bool); ok {
			return b
		}
	case "date":
		if s, ok := value.(string); ok {
			return age(s, now)
		}
	}
	return nil
}

func integer(value any) any {
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return i
		}
	}
	return nil
}

func number(value any) any {
	switch n := value.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	case json.Number:
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	return nil
}

// age formats the time since a timestamp, as kubectl does.
func age(stamp string, now time.Time) string {
	var t metav1.Time
	if err := t.UnmarshalQueryParameter(stamp); err != nil {
		return "<invalid>"
	}
	return kind.Age(t.Time, now)
}
