package flowcontrol

import (
	"bytes"
	_ "embed"
	"iter"

	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
)

// templates has the objects of Initial, one a line and in the same order, as a server stores them. A test of the
// server writes it: go test ./internal/server -run TestFlowTemplates -update-templates.
//
//go:embed templates.jsonl
var templates []byte

// TemplateUID and TemplateTime stand for the UID of an object and for the time of its creation in the templates.
const (
	TemplateUID  = "00000000-0000-4000-8000-000000000000"
	TemplateTime = "2000-01-01T00:00:00Z"
)

// Template is the JSON of an initial object, without a trailing newline. The revision is object.RevisionPlaceholder.
type Template struct {
	Kind, Name string
	JSON       []byte
}

// Templates yields the templates of the objects of Initial. Their JSON must not be modified.
func Templates() iter.Seq[Template] {
	return func(yield func(Template) bool) {
		rest := templates
		next := func(kind, name string) bool {
			var line []byte
			line, rest, _ = bytes.Cut(rest, []byte{'\n'})
			return yield(Template{kind, name, line})
		}
		for _, of := range []struct {
			levels  []*level
			schemas []*schema
		}{
			{bootstrap.SuggestedPriorityLevelConfigurations, bootstrap.SuggestedFlowSchemas},
			{bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.MandatoryFlowSchemas},
		} {
			for _, l := range of.levels {
				if !next("PriorityLevelConfiguration", l.Name) {
					return
				}
			}
			for _, s := range of.schemas {
				if !next("FlowSchema", s.Name) {
					return
				}
			}
		}
	}
}
