package message_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/message"
)

func TestCountFields(t *testing.T) {
	t.Parallel()
	const spec, containers, name, env = 2, 2, 1, 7
	pod := reflect.TypeFor[corev1.Pod]()
	// a name, and two empty variables
	container := slices.Concat(field(name, []byte("a")), field(env, nil), field(env, nil))
	one := field(spec, field(containers, container))
	for what, test := range map[string]struct {
		message []byte
		want    int
	}{
		"nothing":                        {nil, 0},
		"nested fields":                  {one, 13},
		"a text is not a message":        {field(spec, field(containers, field(name, container))), 7},
		"an unknown field is no message": {field(1000, one), 1},
		"an incomplete field":            {append(bytes.Clone(one), 0xff), 13},
		"after a huge field number": {slices.Concat([]byte("\x88\x80\x80\x80\x80\x01\x00"), bytes.Repeat(one, 100)),
			(7 + 100*len(one)) / 2},
		"many": {field(spec, bytes.Repeat(field(containers, nil), 10_000)), 1_000},
	} {
		if got := message.CountFields(test.message, pod, 1_000); got != test.want {
			t.Errorf("%s: got %d, want %d", what, got, test.want)
		}
	}
}
