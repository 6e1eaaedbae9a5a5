package structural

import "time"

// plainMetadata reports whether decoding an object's metadata into an ObjectMeta and encoding it would not
// change it: a map of nonempty fields of the right types, as most clients send and every server stores it. A
// false result is inconclusive.
func plainMetadata(object map[string]any) bool {
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return false
	}
	for name, value := range meta {
		switch name {
		case "name", "namespace", "generateName", "uid", "resourceVersion":
			ok = nonEmptyString(value)
		case "generation":
			n, isInteger := value.(int64)
			ok = isInteger && n != 0
		case "creationTimestamp", "deletionTimestamp":
			ok = plainTime(value)
		case "deletionGracePeriodSeconds":
			_, ok = value.(int64)
		case "labels", "annotations":
			texts, isMap := value.(map[string]any)
			ok = isMap && len(texts) > 0
			for _, text := range texts {
				_, isText := text.(string)
				ok = ok && isText
			}
		case "finalizers":
			ok = nonEmptyList(value, func(item any) bool { _, isText := item.(string); return isText })
		case "ownerReferences":
			ok = nonEmptyList(value, plainOwner)
		case "managedFields":
			ok = nonEmptyList(value, plainManager)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return true
}

func nonEmptyString(value any) bool {
	text, _ := value.(string)
	return text != ""
}

// nonEmptyList reports whether a value is a nonempty list whose items are all plain.
func nonEmptyList(value any, plain func(item any) bool) bool {
	items, ok := value.([]any)
	for _, item := range items {
		ok = ok && plain(item)
	}
	return ok && len(items) > 0
}

// plainTime reports whether a value is a time in its encoded form: in UTC, without fractions of a second.
func plainTime(value any) bool {
	text, _ := value.(string)
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && !t.IsZero() && t.UTC().Format(time.RFC3339) == text
}

// plainOwner reports whether a value is an owner reference with the right types, in which all required fields
// are set.
func plainOwner(value any) bool {
	owner, _ := value.(map[string]any)
	texts := 0
	for name, part := range owner {
		var ok bool
		switch name {
		case "apiVersion", "kind", "name", "uid":
			_, ok = part.(string)
			texts++
		case "controller", "blockOwnerDeletion":
			_, ok = part.(bool)
		}
		if !ok {
			return false
		}
	}
	return texts == 4
}

// plainManager reports whether a value is an entry of managedFields with the right types and no empty fields.
func plainManager(value any) bool {
	entry, ok := value.(map[string]any)
	for name, part := range entry {
		switch name {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			ok = ok && nonEmptyString(part)
		case "time":
			ok = ok && plainTime(part)
		case "fieldsV1":
			ok = ok && onlyMaps(part)
		default:
			return false
		}
	}
	return ok
}

// onlyMaps reports whether a value is a map that contains only such maps.
func onlyMaps(value any) bool {
	inside, ok := value.(map[string]any)
	if !ok || inside == nil {
		return false
	}
	for _, part := range inside {
		if !onlyMaps(part) {
			return false
		}
	}
	return true
}
