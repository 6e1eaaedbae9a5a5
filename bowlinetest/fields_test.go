package bowlinetest_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// Knot is a kind with a conflict of fields for each rule of encoding/json. The fields that win are numbers or
// bools; those that lose are lists.
type Knot struct {
	Spec struct {
		Turns   int64    `json:"turns,string"`
		Slack   *float64 `json:"slack,string"`
		Tight   bool     `json:"tight,string,omitempty"`
		Name    *int     `json:"name,omitempty"`
		Rope    `json:",inline"`
		Length  int `json:"length"`
		*Splice `json:",inline"`
		Twist   [][]int `json:"-"`
	} `json:"spec"`
}

// Rope is embedded between fields with names that it has too.
type Rope struct {
	Name   []string `json:"name"`
	Length []int    `json:"length,omitempty"`
	Colour int      `json:"colour"`
	Strand []int    // Splice has a tagged field with this name
	Core   []int    `json:"core"` // Splice has the same tag, so neither is encoded
}

// Splice is embedded at the same depth as Rope, and in itself.
type Splice struct {
	Tagged int   `json:"Strand"`
	Core   []int `json:"core"`
	*Splice
	Deep
}

// Deep is embedded two levels down.
type Deep struct {
	Colour []int `json:"colour"`
	Core   []int `json:"core"`
	Depth  int   `json:"depth,omitempty"`
}

// TestFieldsMatchJSON checks that the schema of a struct describes the fields that encoding/json writes.
func TestFieldsMatchJSON(t *testing.T) {
	t.Parallel()
	definition := bowlinetest.DefinitionOf("example.com", "Knot",
		map[string]reflect.Type{"v1": reflect.TypeFor[Knot]()})
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]

	one := 1
	var knot Knot
	knot.Spec.Slack, knot.Spec.Tight, knot.Spec.Name = new(float64), true, &one
	knot.Spec.Splice = &Splice{Deep: Deep{Depth: 1}}
	data, err := json.Marshal(knot.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var written map[string]any
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	described, names := slices.Sorted(maps.Keys(spec.Properties)), slices.Sorted(maps.Keys(written))
	if !slices.Equal(described, names) {
		t.Errorf("got properties %q, want %q", described, names)
	}
	for name, value := range written {
		want := map[reflect.Kind]string{reflect.String: "string",
			reflect.Float64: "integer"}[reflect.TypeOf(value).Kind()]
		if got := spec.Properties[name].Type; got != want {
			t.Errorf("%s: got type %q, want %q", name, got, want)
		}
	}
	want := []string{"Strand", "colour", "length", "slack", "turns"}
	if !slices.Equal(spec.Required, want) {
		t.Errorf("got required fields %q, want %q", spec.Required, want)
	}
}
