package structural

import "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// RawSchema implements kind.Schematic.
func (k *Kind) RawSchema(version string) []byte {
	for _, other := range k.kinds {
		if other.version.name == version {
			return other.version.raw
		}
	}
	return nil
}

// PreservesUnknownFields implements kind.Schematic: only definitions from v1beta1 may say so.
func (k *Kind) PreservesUnknownFields() bool { return k.preserve }

// ReadSchema reads what RawSchema gave. It is nil when there is none, or when it is not structural, as that of an old
// definition may be.
func ReadSchema(raw []byte) (*schema.Structural, error) {
	props, err := readProps(raw)
	if props == nil || err != nil {
		return nil, err
	}
	s, err := schema.NewStructural(props)
	if err != nil || len(schema.ValidateStructural(nil, s)) > 0 {
		return nil, nil
	}
	return s, nil
}
