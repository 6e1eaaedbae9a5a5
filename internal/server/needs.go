package server

import (
	"cmp"

	operators "k8s.io/apimachinery/pkg/selection"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// needs are the labels and fields that every selected object has, for the store to wake a watch by. A selector that only
// says what objects do not have (!=, notin, !key) has none: its watches look at every change within their prefix.
func (s *selection) needs() (needs []store.Requirement) {
	var of object.Writer
	if s.converts { // labels and fields of what is shown are those of the header where that was written as it is shown
		of = object.Writer{Stamp: s.codec().Stamp(), Form: s.form}
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
