package golden

// NormalizeWith returns Normalize without further differences between two servers. drop reports which fields of an
// object to remove, and text returns the replacement of a text; either may be nil. v is not modified.
func NormalizeWith(v any, drop func(object map[string]any, field string) bool, text func(string) string) any {
	return Normalize(replace(v, drop, text))
}

func replace(v any, drop func(map[string]any, string) bool, text func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		replaced := map[string]any{}
		for name, value := range v {
			if drop == nil || !drop(v, name) {
				replaced[name] = replace(value, drop, text)
			}
		}
		return replaced
	case []any:
		replaced := make([]any, len(v))
		for i := range v {
			replaced[i] = replace(v[i], drop, text)
		}
		return replaced
	case string:
		if text != nil {
			return text(v)
		}
	}
	return v
}
