package read

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// selection selects the objects of a resource for a list, a watch or a deletecollection.
type selection struct {
	// kind is the one of the request: its labels and fields are matched.
	kind   kind.Kind
	prefix object.Key
	// parent is the prefix before a selector narrowed it: continue tokens are relative to it.
	parent object.Key
	labels labels.Selector // nil selects all
	fields fields.Selector // nil selects all
	// renamed maps the name of a selectable field to the name under which objects store it, if they differ.
	renamed map[string]string
	// converts reports whether an object's labels and fields in the version of the request may differ from the
	// stored ones. They do not if the object is stored in form.
	converts bool
	form     object.Form
	// uninitialized includes objects that initializers have not finished.
	uninitialized bool
	// marks are bits of the selected objects' labels. An object must have at least one mark of each group.
	marks [][]object.Mark
}

// newSelection reads namespace, name and selectors of a request. The selection of a continued list is never
// narrowed to one object.
func newSelection(req *request.Request, continues bool) (*selection, error) {
	s := &selection{kind: req.Kind, prefix: object.Prefix(req.Stored, req.ObjectNamespace),
		renamed: req.Endpoint.Selectable}
	if v, ok := req.Kind.(kind.Custom); ok {
		s.converts, s.form = true, object.Form{APIVersion: v.APIVersion()}
	}
	s.parent = s.prefix
	s.uninitialized = req.Verb == "deletecollection" || request.Flag(req.Query, "includeUninitialized")
	if !req.Info.Namespaced {
		s.parent += "/" // the keys of cluster-scoped objects have an empty namespace
	}
	if req.Name != "" {
		s.prefix = req.Key()
	}
	if text := req.Query.Get("labelSelector"); text != "" {
		selector, err := labels.Parse(text)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		s.selectLabels(selector)
	}
	if text := req.Query.Get("fieldSelector"); text != "" {
		selector, err := fields.ParseSelector(text)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if err := s.selectFields(req, selector, continues); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// maxMarks is the maximum size of a group. With more marks, nearly every object passes.
const maxMarks = 8

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
		if len(group) > 0 && len(group) <= maxMarks {
			s.marks = append(s.marks, group)
		}
	}
}

// selectFields sets the field selector, or narrows the prefix to the one key that the selector leaves. It returns a 400
// if the endpoint does not support one of the fields.
func (s *selection) selectFields(req *request.Request, selector fields.Selector, continues bool) error {
	for _, r := range selector.Requirements() {
		if _, own := req.Endpoint.Selectable[r.Field]; own || r.Field == "metadata.name" ||
			r.Field == "metadata.namespace" && !req.Endpoint.NoNamespaceSelector {
			continue
		}
		if format := req.Endpoint.UnsupportedField; format != "" {
			return apierrors.NewBadRequest(fmt.Sprintf(format, r.Field))
		}
		if !req.Info.Builtin || len(req.Endpoint.Selectable) > 0 {
			return apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
		return apierrors.NewBadRequest(fmt.Sprintf(
			`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, r.Field))
	}
	if selector.Empty() {
		return nil
	}
	name, exact := selector.RequiresExactMatch("metadata.name")
	if req.Name != "" && name != req.Name {
		return apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
	}
	if exact && name != "" && !continues && req.Name == "" && (!req.Info.Namespaced || req.Namespace != "") &&
		!strings.ContainsRune(name, '/') {
		s.prefix = object.KeyOf(req.Stored, req.ObjectNamespace, name)
		if len(selector.Requirements()) == 1 {
			return nil
		}
	}
	s.fields = selector
	return nil
}

// everything reports whether there is neither a label nor a field selector.
func (s *selection) everything() bool { return s.labels == nil && s.fields == nil }

// single reports whether at most one object is selected, by its name. Limits do not apply to it.
func (s *selection) single() bool { return !strings.HasSuffix(string(s.prefix), "/") }

// matches reports whether an object is selected. An object that cannot be converted matches,
// because its conversion for the client then returns the error.
func (s *selection) matches(o *object.Object) bool {
	if !s.uninitialized && o.Uninitialized() {
		return false
	}
	if s.converts && !s.everything() {
		other, err := stored.InVersion(s.kind, kind.CodecOf(s.kind), o)
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

// scan yields the objects of a snapshot that may match, starting at a key.
func (s *selection) scan(snapshot *store.Snapshot, from object.Key, yield func(*object.Object) bool) {
	if s.converts { // the labels to match may differ from the stored ones, of which the marks are made
		snapshot.Scan(s.prefix, from, yield)
		return
	}
	snapshot.Select(s.prefix, from, s.mayMatch, yield)
}

// convert encodes the objects from a key on that a selector has to see converted, with one request to the
// converter.
func (s *selection) convert(ctx context.Context, snapshot *store.Snapshot, from object.Key) error {
	if !s.converts || s.everything() {
		return nil
	}
	codec := kind.CodecOf(s.kind)
	var others []*object.Object
	snapshot.Scan(s.prefix, from, func(o *object.Object) bool {
		if !o.Fresh(codec, s.form) {
			others = append(others, o)
		}
		return true
	})
	_, err := object.Encodings(ctx, others, codec, s.form)
	return err
}

// hidden estimates how many of the next objects are uninitialized, which the client does not see. It
// examines at most the next scanBatch objects, and counts none after them.
func (s *selection) hidden(snapshot *store.Snapshot, from object.Key) (n int) {
	if s.uninitialized {
		return 0
	}
	seen := 0
	may := func(mark object.Mark) bool {
		seen++
		return seen > scanBatch || mark.MayHave(object.UninitializedMark)
	}
	snapshot.Select(s.prefix, from, may, func(o *object.Object) bool {
		if o.Uninitialized() {
			n++
		}
		return seen <= scanBatch
	})
	return n
}
