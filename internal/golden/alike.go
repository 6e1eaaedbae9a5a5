package golden

// NormalizeWith returns Normalize without further differences between two servers. drop reports which fields of an
// object to remove, and text returns the replacement of a text; either may be nil. v is not modified.
func NormalizeWith(v any, drop func(object map[string]any, field string) bool, text func(string) string) any {
	return Normalize(replace(v, drop, text))
}

func replace(v any, drop func(map[string]any, string) bool, text func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range v {
			if drop == nil || !drop(v, name) {
				kept[name] = replace(value, drop, text)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = replace(v[i], drop, text)
		}
		return kept
	case string:
		if text != nil {
			return text(v)
		}
	}
	return v
}
