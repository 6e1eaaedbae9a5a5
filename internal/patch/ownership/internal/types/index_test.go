package types

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// text has a kind, a type that it refers to, and malformed lines.
const text = `example.Boat v1/Boat {"m":{"f":[{"n":"sail","t":{"t":"example.Sail"}},{"n":"tender","t":{"t":"example.Boat"}}]}}
example.Sail - {"m":{"f":[{"n":"size","t":{"s":"numeric"}}]}}
example.Wreck v1/Wreck {"m":
example.Ghost v1/Ghost {"m":{"e":{"t":"example.Gone"}}}
`

// TestTypesAreParsedOnce checks that each type is parsed once, even if several synctest bubbles look it up
// concurrently.
func TestTypesAreParsedOnce(t *testing.T) {
	t.Parallel()
	index := NewIndex(text)
	found := make([][]schema.TypeDef, 4)
	var bubbles sync.WaitGroup
	for i := range found {
		bubbles.Go(func() {
			synctest.Test(t, func(t *testing.T) {
				var err error
				if _, found[i], err = index.Find("v1/Boat"); err != nil {
					t.Error(err)
				}
			})
		})
	}
	bubbles.Wait()
	for _, defs := range found {
		if len(defs) != 2 || defs[0].Name != "example.Boat" || defs[1].Name != "example.Sail" {
			t.Fatalf("Find returned %v", defs)
		}
		if defs[0].Map != found[0][0].Map || defs[1].Map != found[0][1].Map {
			t.Error("a type was parsed a second time")
		}
	}
	if name, defs, err := index.Find("example.Sail"); name != "example.Sail" || len(defs) != 1 ||
		defs[0].Map != found[0][1].Map {
		t.Errorf("Find by the type's name returned %s, %v, %v", name, defs, err)
	}
}

func TestMissingTypes(t *testing.T) {
	t.Parallel()
	index := NewIndex(text)
	for range 2 { // errors are permanent
		if name, defs, err := index.Find("v1/Anchor"); name != "" || defs != nil || err != nil {
			t.Errorf("Find of a missing type returned %s, %v, %v", name, defs, err)
		}
		for kind, want := range map[string]string{"v1/Wreck": "type example.Wreck: ",
			"v1/Ghost": "type example.Gone, of which example.Ghost"} {
			if _, _, err := index.Find(kind); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Find(%s) returned error %v, want %s", kind, err, want)
			}
		}
	}
}
