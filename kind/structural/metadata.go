package structural

// plainMetadata says that an object's metadata is as decoding it into an ObjectMeta and encoding that would make it: a map
// of fields that most clients send, of the right types and not empty. False says nothing.
func plainMetadata(object map[string]any) bool {
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return false
	}
	for name, value := range meta {
		switch name {
		case "name", "namespace", "generateName":
			ok = filled(value)
		case "labels", "annotations":
			texts, isMap := value.(map[string]any)
			ok = isMap && len(texts) > 0
			for _, text := range texts {
				_, isText := text.(string)
				ok = ok && isText
			}
		case "finalizers":
			items, isList := value.([]any)
			ok = isList && len(items) > 0
			for _, item := range items {
				_, isText := item.(string)
				ok = ok && isText
			}
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return true
}

func filled(value any) bool {
	text, _ := value.(string)
	return text != ""
}
