package kind

import "github.com/bowline-dev/bowline/object"

// Versioned is implemented by kinds whose rules work on objects in the version of the request, and not in the hub version:
// those of custom resources. Each of their versions has a Kind of its own, with its own subresources, columns and
// selectable fields; what it is stored as is the same for all.
type Versioned interface {
	Kind

	// APIVersion is the version that the rules work in.
	APIVersion() string

	// In is the kind in another of its versions; nil when there is none such.
	In(apiVersion string) Kind

	// ToStorage gives obj in the version that objects are stored in, with that version's defaults, and the kind in that
	// version. It changes nothing of obj, and gives obj itself when it is in that version already.
	ToStorage(obj Object) (Kind, Object, error)

	// Codec reads and writes stored objects, in whatever version; Object.Decode leaves them in the version that they are
	// stored in.
	Codec() object.Codec
}

// In is a kind as one of its endpoints serves it.
func In(k Kind, e *Endpoint) Kind {
	v, ok := k.(Versioned)
	if !ok {
		return k
	}
	if other := v.In(e.APIVersion()); other != nil {
		return other
	}
	return k
}
