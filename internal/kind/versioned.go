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

	// Codec reads stored objects, in whatever version, as the newest definition of the kind says; Object.Decode leaves them in
	// the version that they are stored in. What is written is of the stamp of the Kind itself, whose rules it went through.
	Codec() object.Codec
}

// CodecOf is what stored objects of a kind are read by, now: of a Versioned kind, another one when its definition changes.
func CodecOf(k Kind) object.Codec {
	if v, ok := k.(Versioned); ok {
		return v.Codec()
	}
	return k
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
