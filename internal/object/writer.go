package object

// Writer identifies the codec and form in which an object was encoded. If a reader uses the same codec and
// form, the labels and fields in the header match those in the body. The zero value identifies no writer.
type Writer struct {
	Stamp Stamp
	Form  Form
}

// Writer returns the writer of the object's committed encoding; see Fresh.
func (o *Object) Writer() Writer { return Writer{o.stamp, o.first.Form} }
