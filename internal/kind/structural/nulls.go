package structural

// hasNull says whether there is a null anywhere in decoded JSON. Few objects have one, and only those need be walked
// together with their schema to see whether it may stay.
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
