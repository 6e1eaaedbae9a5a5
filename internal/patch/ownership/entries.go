package ownership

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Entries returns obj's managedFields, like GetManagedFields. For a custom resource it avoids that method's
// conversion through JSON and reflection, if the entries have the form in which a server writes them.
func Entries(obj kind.Object) []metav1.ManagedFieldsEntry {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if entries, plain := plainEntries(u); plain {
			return entries
		}
	}
	return obj.GetManagedFields()
}

// SetEntries sets obj's managedFields, like SetManagedFields, but without the conversion through JSON for
// custom resources.
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

// plainEntries parses the managedFields of a custom resource. It returns false for any other form than a
// server's own.
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

// readEntry parses one entry.
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

// mapsOfEntries converts entries to maps, as ToUnstructured does. It returns false for unsupported entries.
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

// appendFields encodes the maps of a FieldsV1 as JSON with sorted names. It returns false if a name needs
// escapes other than for quotes and backslashes, or if a value is not a map.
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

// appendName encodes a name with its escapes.
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

// mapsOf parses the FieldsV1 at the start of text, and returns the rest. All empty objects, which most fields
// have, share the map empty. It returns false for white space, for values other than objects, and for escapes
// other than of quotes and backslashes.
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

// cutName parses a separator, a name and its colon.
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

// unescape resolves escaped quotes and backslashes.
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
