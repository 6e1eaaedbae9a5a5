package object

// Field returns the value of a field for field selectors: the name, the namespace, or one of the kind's
// selectable fields. It returns the empty string for any other field.
func (h *Header) Field(name string) string {
	switch name {
	case "metadata.name":
		return h.Key.Name()
	case "metadata.namespace":
		return h.Key.Namespace()
	}
	return h.Fields[name]
}
