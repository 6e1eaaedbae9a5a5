package server_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// JSON is indented if the query asks for it, and for curl, wget and browsers.
func TestPrettyResponses(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	w.createConfigMaps(t, "default", "a")
	object := configMaps + "/a"
	for _, c := range []struct {
		path, agent string
		pretty      bool
	}{
		{object, "golden", false},
		{object + "?pretty=false", "curl/8", false},
		{object + "?pretty=0", "curl/8", false},
		{object + "?pretty=1", "golden", true},
		{object + "?pretty=true", "golden", true},
		{object, "curl/8.5.0", true},
		{object, "Wget/1.21", true},
		{object, "Mozilla/5.0 (X11)", true},
		{configMaps, "curl/8", true},
		{configMaps + "/nobody", "curl/8", true},
		{"/api/v1", "curl/8", true},
	} {
		r := w.get(t, c.path, "User-Agent", c.agent)
		if got := strings.Contains(string(r.body), "\n  \""); got != c.pretty {
			t.Errorf("%s for %s, pretty %t: %s", c.path, c.agent, got, r.body)
		}
		if !json.Valid(r.body) || r.header.Get("Content-Type") != jsonType {
			t.Errorf("%s for %s: %s %s", c.path, c.agent, r.header.Get("Content-Type"), r.body)
		}
		if n := r.header.Get("Content-Length"); n != "" && n != strconv.Itoa(len(r.body)) {
			t.Errorf("%s for %s: length %s of %d", c.path, c.agent, n, len(r.body))
		}
	}
	if y := w.get(t, object, "User-Agent", "curl/8", "Accept", yamlType).want(t,
		http.StatusOK); strings.HasPrefix(string(y.body), "{") {
		t.Errorf("YAML for people: %s", y.body)
	}
}
