package structural

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/object"
)

// TestEndedDefinitionKeepsNothingCompiled: the history keeps objects, and by them their definition, for minutes after it was
// deleted. Its compiled schemas are let go; those that a successor goes on with stay.
func TestEndedDefinitionKeepsNothingCompiled(t *testing.T) {
	t.Parallel()
	made := func(definition string) *Kind {
		k, err := New(object.NewCache(1<<20), parseDefinition(t, definition), nil)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	kept := func(k *Kind) bool {
		a, err := k.version.compiled()
		if err != nil {
			t.Fatal(err)
		}
		b, _ := k.version.compiled()
		return a == b
	}
	first, second := made(widget), made(widget)
	third := made(strings.Replace(widget, `"maxLength": 5`, `"maxLength": 6`, 1))
	second.Succeed(first)
	first.End()
	if !kept(first) || !kept(second) {
		t.Error("a schema that did not change was let go with the definition before")
	}
	third.Succeed(second)
	second.End()
	if kept(second) || !kept(third) {
		t.Error("a schema that changed is kept, or its successor's is not")
	}
	third.End()
	if kept(third) {
		t.Error("the schema of a definition that is gone is kept")
	}
}
