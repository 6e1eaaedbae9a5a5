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
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// selection selects the objects of a resource for a list, a watch or a deletecollection.
type selection struct {
	prefix object.Key
	// parent is the prefix before a selector narrowed it: continue tokens are relative to it.
	parent object.Key
	labels labels.Selector // nil selects all
	fields fields.Selector // nil selects all
	// renamed maps the name of a selectable field to the name under which objects store it, if they differ.
	renamed map[string]string
	// shown returns the object in the version of the request, decoded with codec: its labels and fields are
	// matched. See call.shown.
	shown func(object.Codec, *object.Object) (*object.Object, error)
	codec func() object.Codec
	// ended is closed when the kind is replaced or removed. See call.ended.
	ended <-chan struct{}
	// converts reports whether shown may differ from the stored object. It does not if the object is stored
	// in form.
	converts bool
	form     object.Form
	// uninitialized includes objects that initializers have not finished.
	uninitialized bool
	// marks are bits of the selected objects' labels. An object must have at least one mark of each group.
	marks [][]object.Mark
}

// everything reports whether there is neither a label nor a field selector.
func (s *selection) everything() bool { return s.labels == nil && s.fields == nil }

// single reports whether at most one object is selected, by its name. Limits do not apply to it.
func (s *selection) single() bool { return !strings.HasSuffix(string(s.prefix), "/") }

// matches reports whether an object is selected. An object that cannot be converted is: sending it returns
// the error.
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

// selectLabels sets the label selector, and the marks by which most other objects are skipped.
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

// mostMarks is the maximum size of a group. With more marks, nearly every object passes.
const mostMarks = 8

// scan yields the objects of a snapshot that may match, starting at a key.
func (s *selection) scan(snapshot *store.Snapshot, from object.Key, yield func(*object.Object) bool) {
	if s.converts { // the shown labels may differ from the stored ones, of which the marks are made
		snapshot.Scan(s.prefix, from, yield)
		return
	}
	snapshot.Select(s.prefix, from, s.mayMatch, yield)
}

// mayMatch reports whether an object with this mark may be selected. False means that it lacks a required
// label.
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

// selectionOf reads namespace, name and selectors of a request. The selection of a continued list is never
// narrowed to one object.
func (c *call) selectionOf(q url.Values, continues bool) (*selection, error) {
	s := &selection{prefix: object.Prefix(c.stored(), c.namespaceOfObject()), renamed: c.endpoint.Selectable,
		shown: c.shown, codec: c.codec, ended: c.ended()}
	if v, ok := c.kind.(kind.Custom); ok {
		s.converts, s.form = true, object.Form{APIVersion: v.APIVersion()}
	}
	s.parent = s.prefix
	s.uninitialized = c.verb == "deletecollection" || asksUninitialized(q)
	if !c.info().Namespaced {
		s.parent += "/" // the keys of cluster-scoped objects have an empty namespace
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
		if name, _ := selector.RequiresExactMatch("metadata.name"); c.name != "" && !selector.Empty() &&
			name != c.name {
			return nil, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
		s.narrow(c, selector, continues)
	}
	return s, nil
}

// selectable returns a 400 if the endpoint does not support a field of the selector.
func (c *call) selectable(selector fields.Selector) error {
	for _, r := range selector.Requirements() {
		if _, own := c.endpoint.Selectable[r.Field]; own || r.Field == "metadata.name" ||
			r.Field == "metadata.namespace" {
			continue
		}
		if !c.builtin() || len(c.endpoint.Selectable) > 0 {
			return apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
		known := []string{`"metadata.name"`, `"metadata.namespace"`}
		return apierrors.NewBadRequest(fmt.Sprintf("%q is not a known field selector: only %s", r.Field,
			strings.Join(known, ", ")))
	}
	return nil
}

// narrow sets the field selector, or narrows the prefix to the one key that the selector leaves.
func (s *selection) narrow(c *call, selector fields.Selector, continues bool) {
	name, exact := selector.RequiresExactMatch("metadata.name")
	if exact && name != "" && !continues && c.name == "" && (!c.info().Namespaced || c.namespace != "") &&
		!strings.ContainsRune(name, '/') {
		s.prefix = object.KeyOf(c.stored(), c.namespaceOfObject(), name)
		if len(selector.Requirements()) == 1 {
			return
		}
	}
	if !selector.Empty() {
		s.fields = selector
	}
}
