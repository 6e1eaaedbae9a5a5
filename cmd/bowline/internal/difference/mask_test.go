package difference

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	metadata := func(annotation string) m {
		return m{"name": "a", "annotations": m{applied: annotation, "other": "kept"}}
	}
	for name, test := range map[string]struct{ before, after, wantBefore, wantAfter m }{
		"values": {
			m{"data": m{"same": "x", "differs": "x", "goes": "x"}, "stringData": m{"a": ""}, "type": "Opaque"},
			m{"data": m{"same": "x", "differs": "y", "comes": "y"}, "type": "Opaque"},
			m{"data": m{"same": "***", "differs": "*** (before)", "goes": "***"}, "stringData": m{"a": "***"},
				"type": "Opaque"},
			m{"data": m{"same": "***", "differs": "*** (after)", "comes": "***"}, "type": "Opaque"},
		},
		"only one": {m{"data": m{"a": "x"}}, nil, m{"data": m{"a": "***"}}, nil},
		"the last applied configuration": {
			m{"metadata": metadata(`{"data":{"a":"x"}}`)}, m{"metadata": metadata(`{"data":{"a":"y"}}`)},
			m{"metadata": metadata("*** (before)")}, m{"metadata": metadata("*** (after)")},
		},
		"no maps": {
			m{"data": "x", "stringData": []any{"x"}, "metadata": 1}, m{"data": m{"a": "x"}, "metadata": nil},
			m{"data": "*** (before)", "stringData": "***", "metadata": 1}, m{"data": "*** (after)", "metadata": nil},
		},
	} {
		mask(test.before, test.after)
		if diff := cmp.Diff([]m{test.wantBefore, test.wantAfter}, []m{test.before, test.after}); diff != "" {
			t.Errorf("%s: masked values differ (-want +got):\n%s", name, diff)
		}
	}
}
