package ownership

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Entries are what GetManagedFields of an object gives. A custom resource has its ownership as maps, of which its own method
// makes text and structs by way of JSON and reflection: those that a server wrote are read as they are.
func Entries(obj kind.Object) []metav1.ManagedFieldsEntry {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if entries, plain := plainEntries(u); plain {
			return entries
		}
	}
	return obj.GetManagedFields()
}

// SetEntries is SetManagedFields of an object.
func SetEntries(obj kind.Object, entries []metav1.ManagedFieldsEntry) {
	u, ok := obj.(*unstructured.Unstructured)
	if ok && entries != nil {
		meta, isMap := u.Object["metadata"].(map[string]any)
		if items, plain := mapsOfEntries(entries); plain && isMap {
			meta["managedFields"] = items
			return
		}
	}
	obj.SetManagedFields(entries)
}

// plainEntries reads the ownership in a custom resource. plain is false where it is not as servers write it.
func plainEntries(u *unstructured.Unstructured) (entries []metav1.ManagedFieldsEntry, plain bool) {
	meta, _ := u.Object["metadata"].(map[string]any)
	items, isList := meta["managedFields"].([]any)
	if !isList {
		return nil, true
	}
	entries = make([]metav1.ManagedFieldsEntry, len(items))
	for i, item := range items {
		parts, isMap := item.(map[string]any)
		if !isMap || !readEntry(parts, &entries[i]) {
			return nil, false
		}
	}
	return entries, true
}

// readEntry reads the map of an entry.
func readEntry(parts map[string]any, e *metav1.ManagedFieldsEntry) (plain bool) {
	for name, part := range parts {
		if fields, isMap := part.(map[string]any); isMap && name == "fieldsV1" {
			text, plain := appendFields(make([]byte, 0, 256), fields)
			if !plain {
				return false
			}
			e.FieldsV1 = &metav1.FieldsV1{}
			e.FieldsV1.SetRawBytes(text)
			continue
		}
		text, isText := part.(string)
		if !isText {
			return false
		}
		switch name {
		case "manager":
			e.Manager = text
		case "operation":
			e.Operation = metav1.ManagedFieldsOperationType(text)
		case "apiVersion":
			e.APIVersion = text
		case "fieldsType":
			e.FieldsType = text
		case "subresource":
			e.Subresource = text
		case "time":
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return false
			}
			e.Time = &metav1.Time{Time: t.Local()}
		default:
			return false
		}
	}
	return true
}

// mapsOfEntries are the maps of entries, as ToUnstructured makes them. plain is false where it is to do it itself.
func mapsOfEntries(entries []metav1.ManagedFieldsEntry) (items []any, plain bool) {
	items = make([]any, len(entries))
	empty := map[string]any{}
	for i, e := range entries {
		parts := make(map[string]any, 7)
		for _, part := range [...]struct{ name, text string }{
			{"manager", e.Manager}, {"operation", string(e.Operation)}, {"apiVersion", e.APIVersion},
			{"fieldsType", e.FieldsType}, {"subresource", e.Subresource},
		} {
			if part.text != "" {
				parts[part.name] = part.text
			}
		}
		if e.Time.IsZero() != (e.Time == nil) {
			return nil, false
		}
		if e.Time != nil {
			parts["time"] = e.Time.UTC().Format(time.RFC3339)
		}
		if e.FieldsV1 != nil {
			fields, rest, plain := mapsOf(e.FieldsV1.GetRawString(), empty)
			if !plain || rest != "" {
				return nil, false
			}
			parts["fieldsV1"] = fields
		}
		items[i] = parts
	}
	return items, true
}

// appendFields writes the maps of a FieldsV1 as JSON with sorted names. plain is false where a name has more to escape than
// quotes and backslashes, or something else is in the maps than maps.
func appendFields(out []byte, fields map[string]any) (text []byte, plain bool) {
	var room [32]string
	names := room[:0]
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	out = append(out, '{')
	for i, name := range names {
		inside, isMap := fields[name].(map[string]any)
		if !isMap || inside == nil {
			return nil, false
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		if out, plain = appendName(out, name); !plain {
			return nil, false
		}
		if out, plain = appendFields(append(out, `":`...), inside); !plain {
			return nil, false
		}
	}
	return append(out, '}'), true
}

// appendName writes a name, with its escapes.
func appendName(out []byte, name string) (text []byte, plain bool) {
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ', c > '~', c == '<', c == '>', c == '&':
			return nil, false
		case c == '"', c == '\\':
			out = append(out, '\\', c)
		default:
			out = append(out, c)
		}
	}
	return out, true
}

// mapsOf are the maps of the FieldsV1 that a text begins with, and what follows it. Where nothing is inside, they have the
// same empty map: most fields of most objects are such. plain is false for a text with white space, with anything else in it
// than objects, or with escapes other than those of quotes and backslashes.
func mapsOf(text string, empty map[string]any) (content map[string]any, rest string, plain bool) {
	if rest, none := strings.CutPrefix(text, "{}"); none {
		return empty, rest, true
	}
	content = map[string]any{}
	for separator := "{"; ; separator = "," {
		name, inside, plain := cutName(text, separator)
		if !plain {
			return nil, "", false
		}
		if content[name], text, plain = mapsOf(inside, empty); !plain {
			return nil, "", false
		}
		if rest, ends := strings.CutPrefix(text, "}"); ends {
			return content, rest, true
		}
	}
}

// cutName takes a separator, a name and its colon off a text.
func cutName(text, separator string) (name, rest string, plain bool) {
	text, found := strings.CutPrefix(text, separator+`"`)
	if !found {
		return "", "", false
	}
	escaped := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < ' ', c > '~':
			return "", "", false
		case c == '\\':
			if i++; i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", "", false
			}
			escaped = true
		case c == '"':
			rest, found = strings.CutPrefix(text[i+1:], ":")
			name = text[:i]
			if escaped {
				name = unescape(name)
			}
			return name, rest, found
		}
	}
	return "", "", false
}

// unescape takes the backslashes out that escape quotes and backslashes.
func unescape(name string) string {
	plain := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' {
			i++
		}
		plain = append(plain, name[i])
	}
	return string(plain)
}
