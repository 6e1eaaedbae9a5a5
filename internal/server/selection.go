package server

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// selection is which objects of a resource a list, a watch or a deletecollection is about.
type selection struct {
	prefix object.Key
	// parent is the prefix without what the selectors narrow it by: continue tokens are relative to it.
	parent object.Key
	labels labels.Selector // nil for all
	fields fields.Selector // nil for all
	// renamed are the names under which objects have the values of selectable fields, where they differ.
	renamed map[string]string
	// shown gives the object whose labels and fields are to be looked at, and codec is what it is read by: see call.
	shown func(object.Codec, *object.Object) (*object.Object, error)
	codec func() object.Codec
	// ended is closed when the kind is served differently or no longer: see call.ended.
	ended <-chan struct{}
	// converts says that it may be another one than the stored object, unless that is in the form.
	converts bool
	form     object.Form
	// uninitialized says that objects count which initializers have still to act on.
	uninitialized bool
	// marks are the bits of labels that selected objects have: of each group, those of one mark at least.
	marks [][]object.Mark
}

// everything says that nothing is selected by labels or fields.
func (s *selection) everything() bool { return s.labels == nil && s.fields == nil }

// single says that at most one object is selected, by its name: it is read rather than listed, and limits do not count.
func (s *selection) single() bool { return !strings.HasSuffix(string(s.prefix), "/") }

// matches says whether an object is selected. One that cannot be shown is: who sends it meets the error.
func (s *selection) matches(o *object.Object) bool {
	if !s.uninitialized && o.Uninitialized() {
		return false
	}
	if s.converts && !s.everything() {
		other, err := s.shown(s.codec(), o)
		if err != nil {
			return true
		}
		o = other
	}
	if s.labels != nil && (!s.mayMatch(o.Mark()) || !s.labels.Matches(labels.Set(o.Labels))) {
		return false
	}
	return s.fields == nil || s.fields.Matches(objectFields{o, s.renamed})
}

// selectLabels keeps a label selector, with the marks that let most objects be passed over.
func (s *selection) selectLabels(selector labels.Selector) {
	s.labels = selector
	if selector == nil {
		return
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		var group []object.Mark
		switch r.Operator() {
		case operators.Equals, operators.DoubleEquals, operators.In:
			for value := range r.Values() {
				group = append(group, object.MarkLabel(r.Key(), value))
			}
		case operators.Exists, operators.GreaterThan, operators.LessThan:
			group = []object.Mark{object.MarkKey(r.Key())}
		}
		if len(group) > 0 && len(group) <= mostMarks {
			s.marks = append(s.marks, group)
		}
	}
}

// mostMarks is how many marks of a group are looked at: with more of them, nearly every object passes.
const mostMarks = 8

// scan yields the objects of a snapshot that matches is to be asked about, from a key on.
func (s *selection) scan(snapshot *store.Snapshot, from object.Key, yield func(*object.Object) bool) {
	if s.converts { // the labels that are shown may not be those that are stored
		snapshot.Scan(s.prefix, from, yield)
		return
	}
	snapshot.Select(s.prefix, from, s.mayMatch, yield)
}

// mayMatch is false for the mark of an object that lacks a label which selected objects have.
func (s *selection) mayMatch(mark object.Mark) bool {
	for _, group := range s.marks {
		some := false
		for _, m := range group {
			some = some || mark.MayHave(m)
		}
		if !some {
			return false
		}
	}
	return true
}

// objectFields are the selectable fields of an object.
type objectFields struct {
	*object.Object
	renamed map[string]string
}

// Has implements fields.Fields.
func (f objectFields) Has(name string) bool {
	_, own := f.Fields[name]
	return own || name == "metadata.name" || name == "metadata.namespace"
}

// Get implements fields.Fields.
func (f objectFields) Get(name string) string { return f.Field(cmp.Or(f.renamed[name], name)) }

// selectionOf reads namespace, name and selectors of a call. Whoever continues a list is not taken to one object of it.
func (c *call) selectionOf(q url.Values, continues bool) (*selection, error) {
	s := &selection{prefix: object.Prefix(c.stored(), c.namespaceOfObject()), renamed: c.endpoint.Selectable, shown: c.shown, codec: c.codec, ended: c.ended()}
	if v, ok := c.kind.(kind.Versioned); ok {
		s.converts, s.form = true, object.Form{APIVersion: v.APIVersion()}
	}
	s.parent = s.prefix
	s.uninitialized = c.verb == "deletecollection" || asksUninitialized(q)
	if !c.info().Namespaced {
		s.parent += "/" // the namespace in their keys is empty
	}
	if c.name != "" {
		s.prefix = c.key()
	}
	if text := q.Get("labelSelector"); text != "" {
		selector, err := labels.Parse(text)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		s.selectLabels(selector)
	}
	if text := q.Get("fieldSelector"); text != "" {
		selector, err := fields.ParseSelector(text)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if err := c.selectable(selector); err != nil {
			return nil, err
		}
		if name, _ := selector.RequiresExactMatch("metadata.name"); c.name != "" && !selector.Empty() && name != c.name {
			return nil, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
		s.narrow(c, selector, continues)
	}
	return s, nil
}

// selectable refuses a selector on a field that the endpoint does not select by.
func (c *call) selectable(selector fields.Selector) error {
	for _, r := range selector.Requirements() {
		if _, own := c.endpoint.Selectable[r.Field]; own || r.Field == "metadata.name" || r.Field == "metadata.namespace" {
			continue
		}
		if !c.protobuf() || len(c.endpoint.Selectable) > 0 {
			return apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
		known := []string{`"metadata.name"`, `"metadata.namespace"`}
		return apierrors.NewBadRequest(fmt.Sprintf("%q is not a known field selector: only %s", r.Field, strings.Join(known, ", ")))
	}
	return nil
}

// narrow keeps a field selector, or the one key that it leaves.
func (s *selection) narrow(c *call, selector fields.Selector, continues bool) {
	name, exact := selector.RequiresExactMatch("metadata.name")
	if exact && name != "" && !continues && c.name == "" && (!c.info().Namespaced || c.namespace != "") && !strings.ContainsRune(name, '/') {
		s.prefix = object.KeyOf(c.stored(), c.namespaceOfObject(), name)
		if len(selector.Requirements()) == 1 {
			return
		}
	}
	if !selector.Empty() {
		s.fields = selector
	}
}
