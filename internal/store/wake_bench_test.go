package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// BenchmarkUpdatesBesideWatchers updates an object in each of 10,000 namespaces, with watchers of one
// namespace each. An iteration ends when the last watcher has its event.
func BenchmarkUpdatesBesideWatchers(b *testing.B) {
	const namespaces = 10_000
	for _, watchers := range []int{10, namespaces} {
		b.Run(fmt.Sprint(watchers), func(b *testing.B) {
			s := open(b)
			var watched sync.WaitGroup
			for b.Loop() {
				b.StopTimer()
				for i := range watchers {
					w, err := s.Watch(namespaceOf(i*(namespaces/watchers)), s.Current())
					if err != nil {
						b.Fatal(err)
					}
					watched.Go(func() { drain(b, w, 1) })
				}
				b.StartTimer()
				for i := range namespaces {
					mustCommit(b, s, storeChange(b, namespaceOf(i)+"own"))
				}
				watched.Wait()
			}
		})
	}
}

func namespaceOf(i int) object.Key { return object.Key(fmt.Sprintf("/configmaps/n%05d/", i)) }

func storeChange(b *testing.B, key object.Key) store.Change {
	return shown(b, key, map[string]string{"app": "crowd"}, nil)
}
