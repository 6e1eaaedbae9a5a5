package read

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/internal/object"
)

// BenchmarkSelectByLabel selects 1,000 of 100,000 objects.
func BenchmarkSelectByLabel(b *testing.B) {
	objects := make([]*object.Object, 100_000)
	for i := range objects {
		e, err := object.NewEncoding(object.Form{},
			fmt.Appendf(nil, `{"metadata":{"name":"m-%d","resourceVersion":"%s"},"data":"%01000d"}`, i,
				object.RevisionPlaceholder, i))
		if err != nil {
			b.Fatal(err)
		}
		h := object.Header{Key: object.Key(fmt.Sprintf("/configmaps/n/m-%d", i)),
			Labels: map[string]string{"app": "x", "tier": "y", "shard": fmt.Sprint(i % 100)}}
		objects[i] = object.New(h, nil, e)
	}
	selector, err := labels.Parse("shard=42")
	if err != nil {
		b.Fatal(err)
	}
	s := &selection{}
	s.selectLabels(selector)
	for b.Loop() {
		n := 0
		for _, o := range objects {
			if s.matches(o) {
				n++
			}
		}
		if n != 1000 {
			b.Fatalf("selected %d", n)
		}
	}
}
