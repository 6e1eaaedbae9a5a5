package read

import (
	"cmp"

	operators "k8s.io/apimachinery/pkg/selection"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// needs returns labels and fields that every selected object has: the store wakes a watch by one of them. A
// selector that only excludes objects (!=, notin, !key) returns none; its watch wakes for every change within
// its prefix.
func (s *selection) needs() (needs []store.Requirement) {
	var of object.Writer
	// The header has the shown labels and fields only if the object was written with this codec and form.
	if s.converts {
		of = object.Writer{Stamp: kind.CodecOf(s.kind).Stamp(), Form: s.form}
	}
	if s.fields != nil {
		for _, r := range s.fields.Requirements() {
			if r.Operator != operators.NotEquals {
				needs = append(needs, store.HasField(cmp.Or(s.renamed[r.Field], r.Field), r.Value).Of(of))
			}
		}
	}
	if s.labels == nil {
		return needs
	}
	requirements, _ := s.labels.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case operators.Equals, operators.DoubleEquals, operators.In:
			needs = append(needs, store.HasLabel(r.Key(), r.ValuesUnsorted()...).Of(of))
		case operators.Exists, operators.GreaterThan, operators.LessThan:
			needs = append(needs, store.HasLabel(r.Key()).Of(of))
		}
	}
	return needs
}
