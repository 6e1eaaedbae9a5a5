package rbac

import "k8s.io/apimachinery/pkg/util/validation/field"

// maxErrors is the number of errors after which validation stops, so that an object with a million invalid rules costs
// little. The server lists only the first hundred (kind.NewInvalid).
const maxErrors = 1000

// report collects the errors of an object, in the order of Kubernetes: the errors of declarative rules follow all
// others. On an update, declarative rules do not apply to a field with the old value. Kubernetes then returns the error
// of the equivalent check in its code, which precedes them and may have another text.
type report struct {
	// namespaced reports whether the object is in a namespace.
	namespaced            bool
	checked, declarations field.ErrorList
}

// errors returns all errors.
func (r *report) errors() field.ErrorList { return append(r.checked, r.declarations...) }

// full reports whether validation stops.
func (r *report) full() bool { return len(r.checked) >= maxErrors }

func (r *report) add(errs ...*field.Error) { r.checked = append(r.checked, errs...) }

// require adds the error of a missing field of an element. changed reports whether the write creates or changes the
// field; detail is the text of the error if it does not.
func (r *report) require(e element, name, detail string, changed bool) {
	switch {
	case !changed:
		r.add(field.Required(e.child(name), detail))
	case len(r.declarations) < maxErrors:
		r.declarations = append(r.declarations, field.Required(e.child(name), ""))
	}
}

// element is the position of an element of a list. Unlike a path, it allocates nothing if the element is valid.
type element struct {
	list  *field.Path
	index int
}

// child returns the path of a field of the element.
func (e element) child(name string) *field.Path { return e.list.Index(e.index).Child(name) }
