package structural

// hasNull reports whether decoded JSON contains a null. Few objects do, and only those must be compared with
// their schema to find nulls in non-nullable fields.
func hasNull(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, part := range value {
			if hasNull(part) {
				return true
			}
		}
	case []any:
		for _, part := range value {
			if hasNull(part) {
				return true
			}
		}
	}
	return false
}
