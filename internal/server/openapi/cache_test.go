package openapi

import (
	"fmt"
	"testing"
)

func TestCacheStaysWithinBudget(t *testing.T) {
	t.Parallel()
	var d documents
	const size = budget / 8
	key := func(i int) documentKey { return documentKey{fmt.Sprint(i), jsonFormat} }
	for i := range 20 {
		d.put(key(i), finished{"hash", make([]byte, size)})
		d.put(key(i), finished{"hash", make([]byte, size)}) // replaces the document
	}
	if d.used != 8*size || len(d.all) != 8 || len(d.order) != 8 {
		t.Errorf("%d documents of %d bytes are cached", len(d.all), d.used)
	}
	if _, ok := d.find(key(11), "hash"); ok {
		t.Error("an old document is cached")
	}
	if _, ok := d.find(key(19), "hash"); !ok {
		t.Error("the newest document is not cached")
	}
	if _, ok := d.find(key(19), "other"); ok {
		t.Error("a document is found by another hash")
	}
	d.retain(func(path, _ string) bool { return path == "19" })
	if len(d.all) != 1 || d.used != size {
		t.Errorf("%d documents are cached, want 1", len(d.all))
	}
	d.put(key(99), finished{"hash", make([]byte, budget+1)})
	if d.used != 0 || len(d.order) != 0 {
		t.Error("a document larger than the budget is cached")
	}
}
