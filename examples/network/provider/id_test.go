package provider_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// hostileIDs are UIDs and plane IDs that no server assigns. As a part of the name of a file, a namespace or an
// interface, they would name another one.
var hostileIDs = map[string]string{
	"empty": "", "a dot": ".", "a parent": "..", "a file above": "../x", "climbs far": "/../../../../../etc/passwd",
	"a path": "/etc/passwd", "a slash": "a/b", "a slash at the end": "a/", "a backslash": `a\b`,
	"a climbing backslash": `..\..\x`,
	"the separator":        "a.b", "the separator first": ".a", "an encoded slash": "a%2fb", "an encoded dot": "%2e%2e",
	"NUL": "a\x00b", "NUL at the end": "a\x00", "a line break": "a\nb", "a line break at the end": "a\n", "CR": "a\r",
	"ESC": "\x1b[2J", "a tab": "a\tb", "a space": "a b", "a space first": " a", "a quote": `a"b`, "an apostrophe": "a'b",
	"a semicolon": "a;id", "a substitution": "$(id)", "a backtick": "`id`", "a pipe": "a|id", "an option": "-rf",
	"two dashes":          "--help",
	"an underscore first": "_a", "a star": "*", "a question mark": "?", "a tilde": "~root", "a colon": "a:b",
	"an at": "a@b", "a percent": "%s%n",
	"a comma": "a,b", "a letter beyond ASCII": "ä", "a dot of full width": "\uff0e\uff0e\uff0fa",
	"a bidirectional override": "a\u202eb",
	"invalid UTF-8":            "a\xff", "too long": strings.Repeat("a", 101), "a megabyte": strings.Repeat("a", 1<<20),
}

// TestHostileIDsAreRejected checks that a text is accepted only if it names a file in the folder that it is joined to,
// and can be parsed.
func TestHostileIDsAreRejected(t *testing.T) {
	t.Parallel()
	for name, id := range hostileIDs {
		if err := provider.CheckUID(types.UID(id)); err == nil {
			t.Errorf("%s: CheckUID accepts %.40q", name, id)
		} else if len(err.Error()) > 4<<10 {
			t.Errorf("%s: the error of CheckUID has %d bytes", name, len(err.Error()))
		}
		if err := provider.CheckPlane(id); err == nil {
			t.Errorf("%s: CheckPlane accepts %.40q", name, id)
		} else if len(err.Error()) > 4<<10 {
			t.Errorf("%s: the error of CheckPlane has %d bytes", name, len(err.Error()))
		}
		if uid, ok := provider.ParseID("plane", provider.ID("plane", types.UID(id))); ok {
			t.Errorf("%s: ParseID returns %.40q", name, uid)
		}
	}
	for _, id := range []string{"a", "A-b_0", "1f0e9d4c-2f0b-4a53-8a3c-1d0a5b3f9e77", strings.Repeat("a", 100)} {
		if err := provider.CheckUID(types.UID(id)); err != nil {
			t.Error(err)
		}
		name := provider.ID("plane", types.UID(id))
		if filepath.Base(filepath.Join("/folder", name)) != name {
			t.Errorf("the ID %q is no file name", name)
		}
		if uid, ok := provider.ParseID("plane", name); !ok || string(uid) != id {
			t.Errorf("ParseID of %q returns %q, %t", name, uid, ok)
		}
	}
}
