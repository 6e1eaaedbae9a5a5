package recorded

// Alike is Plain without more of what differs between two servers. Of each object drop says which fields are left out, and text
// what takes the place of each text; either may be nil. What v is made of is not changed.
func Alike(v any, drop func(object map[string]any, field string) bool, text func(string) string) any {
	return Plain(alike(v, drop, text))
}

func alike(v any, drop func(map[string]any, string) bool, text func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range v {
			if drop == nil || !drop(v, name) {
				kept[name] = alike(value, drop, text)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = alike(v[i], drop, text)
		}
		return kept
	case string:
		if text != nil {
			return text(v)
		}
	}
	return v
}
