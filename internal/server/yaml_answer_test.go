package server_test

import (
	"net/http"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// An object with a character that YAML excludes, or with a field name of more than 1,024 bytes, can be read as YAML,
// alone and in a list.
func TestUnusualObjectsAreReadableAsYAML(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	long := strings.Repeat("k", 1_100)
	w.create(t, widgetsPath, widget("a", `{"free":{"`+long+`":"v","text":"before\ufffeafter"}}`))
	w.create(t, widgetsPath, widget("b", `{"free":{}}`))
	for _, path := range []string{widgetsPath + "/a", widgetsPath} {
		body := w.get(t, path, "Accept", yamlType).want(t, http.StatusOK).body
		var got any
		if err := yaml.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		object, _ := got.(map[string]any)
		if items, ok := object["items"].([]any); ok {
			object, _ = items[0].(map[string]any)
		}
		free, _ := valueAt(object, "spec", "free").(map[string]any)
		if free[long] != "v" || free["text"] != "before\ufffeafter" {
			t.Errorf("%s: got %.300s", path, body)
		}
	}
}
