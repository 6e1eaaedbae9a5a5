package structural

import "time"

// plainMetadata says that an object's metadata is as decoding it into an ObjectMeta and encoding that would make it: a map
// of fields of the right types and not empty, as most clients send and every server writes them. False says nothing.
func plainMetadata(object map[string]any) bool {
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return false
	}
	for name, value := range meta {
		switch name {
		case "name", "namespace", "generateName", "uid", "resourceVersion":
			ok = filled(value)
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
			ok = each(value, func(item any) bool { _, isText := item.(string); return isText })
		case "ownerReferences":
			ok = each(value, plainOwner)
		case "managedFields":
			ok = each(value, plainManager)
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

// each says that a value is a list of something, and that each item is plain.
func each(value any, plain func(item any) bool) bool {
	items, ok := value.([]any)
	for _, item := range items {
		ok = ok && plain(item)
	}
	return ok && len(items) > 0
}

// plainTime says that a value is a time as it is written: in UTC, without parts of seconds.
func plainTime(value any) bool {
	text, _ := value.(string)
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && !t.IsZero() && t.UTC().Format(time.RFC3339) == text
}

// plainOwner says so of an owner reference, which has the names of the owner at least.
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

// plainManager says so of an entry of the managed fields.
func plainManager(value any) bool {
	entry, ok := value.(map[string]any)
	for name, part := range entry {
		switch name {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			ok = ok && filled(part)
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

// onlyMaps says that a value is a map with nothing but such maps in it.
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
