package object

// Field is what a field selector reads of a field: the name and the namespace, which stand in the key, or one of the
// kind's selectable fields. A field that is not there reads as the empty string.
func (h *Header) Field(name string) string {
	switch name {
	case "metadata.name":
		return h.Key.Name()
	case "metadata.namespace":
		return h.Key.Namespace()
	}
	return h.Fields[name]
}
