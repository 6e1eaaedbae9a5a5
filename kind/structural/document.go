package structural

// RawSchema is the OpenAPI v3 schema of a version as JSON, for documents about the API; nil when the version is not
// defined or has none. The caller must not change it.
func (k *Kind) RawSchema(version string) []byte {
	for _, other := range k.kinds {
		if other.version.name == version {
			return other.version.raw
		}
	}
	return nil
}

// PreservesUnknownFields says that the definition keeps every field of its objects, which those from v1beta1 may.
func (k *Kind) PreservesUnknownFields() bool { return k.preserve }
