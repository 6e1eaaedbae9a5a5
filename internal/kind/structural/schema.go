package structural

import "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// RawSchema implements kind.Custom.
func (d *definition) RawSchema(version string) []byte {
	for _, other := range d.kinds {
		if other.version.name == version {
			return other.version.raw
		}
	}
	return nil
}

// PreservesUnknownFields implements kind.Custom. Only definitions from v1beta1 can set it.
func (d *definition) PreservesUnknownFields() bool { return d.preserve }

// ReadSchema parses the result of RawSchema. It returns nil if there is no schema, or if the schema is not
// structural, which a v1beta1 definition allows.
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
