package object

// Writer is who wrote an object, and in which form: readers of the same kind of codec and form find in its header what they
// would find in what they read. The zero value is nobody.
type Writer struct {
	Stamp Stamp
	Form  Form
}

// Writer is the object's own: see Fresh.
func (o *Object) Writer() Writer { return Writer{o.stamp, o.first.Form} }
