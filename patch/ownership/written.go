package ownership

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/kind"
)

// writeEntry makes an entry with fields, as a walk wrote them, all that an object says of its ownership. A custom resource
// gets the maps that its SetManagedFields would make by way of JSON.
func writeEntry(obj kind.Object, entry metav1.ManagedFieldsEntry, fields string) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		entry.FieldsV1 = metav1.NewFieldsV1(fields)
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{entry})
		return
	}
	content, _ := mapsOf(fields, map[string]any{})
	meta, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		u.Object["metadata"] = meta
	}
	meta["managedFields"] = []any{map[string]any{
		"manager": entry.Manager, "operation": string(entry.Operation), "apiVersion": entry.APIVersion,
		"time": entry.Time.UTC().Format(time.RFC3339), "fieldsType": entry.FieldsType, "fieldsV1": content,
	}}
}

// mapsOf are the maps of the FieldsV1 that a walk wrote, and what follows it. Where nothing is inside, they have the same
// empty map: most fields of most objects are such.
func mapsOf(fields string, empty map[string]any) (content map[string]any, rest string) {
	if strings.HasPrefix(fields, "{}") {
		return empty, fields[2:]
	}
	content, rest = map[string]any{}, fields[1:]
	for rest[0] != '}' {
		rest = strings.TrimPrefix(rest, ",")
		end := 1
		for ; rest[end] != '"'; end++ {
			if rest[end] == '\\' {
				end++
			}
		}
		name := unescape(rest[1:end])
		content[name], rest = mapsOf(rest[end+len(`":`):], empty)
	}
	return content, rest[1:]
}

// unescape takes a name back from what a walk made of it: it escapes quotes and backslashes alone.
func unescape(name string) string {
	if strings.IndexByte(name, '\\') < 0 {
		return name
	}
	plain := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' {
			i++
		}
		plain = append(plain, name[i])
	}
	return string(plain)
}
