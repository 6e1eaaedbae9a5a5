package object_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
)

func TestKeyParts(t *testing.T) {
	t.Parallel()
	for _, resource := range []schema.GroupResource{{Resource: "pods"},
		{Group: "samplecrd.k8s.io", Resource: "networks"}} {
		for _, namespace := range []string{"", "default"} {
			k := object.KeyOf(resource, namespace, "a.b-c")
			if k.GroupResource() != resource || k.Namespace() != namespace || k.Name() != "a.b-c" {
				t.Errorf("key %s: got %v, %q, %q", k, k.GroupResource(), k.Namespace(), k.Name())
			}
			for _, prefix := range []object.Key{object.Prefix(resource, ""), object.Prefix(resource, namespace)} {
				if !strings.HasPrefix(string(k), string(prefix)) || !strings.HasSuffix(string(prefix), "/") {
					t.Errorf("%s is not a prefix of %s", prefix, k)
				}
			}
		}
	}
}

func TestKeysOrderByNamespaceThenName(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	want := []object.Key{
		object.KeyOf(pods, "a", "z"), object.KeyOf(pods, "b", "a"), object.KeyOf(pods, "b", "a1"),
		object.KeyOf(pods, "c", "a"),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got the order %v", got)
	}
}

func TestParseRevision(t *testing.T) {
	t.Parallel()
	const text = "1700000000000000"
	if r, err := object.ParseRevision(text); err != nil || r != 1_700_000_000_000_000 || r.String() != text {
		t.Errorf("got revision %d, %v", r, err)
	}
	for _, s := range []string{"", "-1", "1.5", "abc", "99999999999999999999", "+1", " 1"} {
		if r, err := object.ParseRevision(s); err == nil {
			t.Errorf("ParseRevision(%q) returned %d, want an error", s, r)
		}
	}
}
