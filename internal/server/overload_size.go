package server

import (
	"context"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// listed reads from a query whether a request goes over objects at all, and over how many at most, 0 for all: a page has its
// limit, unless selectors make it look for its objects among the others. A watch begins with a list where its client wants
// the state, or has none to begin from.
func listed(target *route, r *http.Request) (limit int64, lists bool) {
	q := r.URL.Query()
	lists = true
	if target.verb == "watch" {
		initial, asked := q["sendInitialEvents"]
		revision := q.Get("resourceVersion")
		lists = asked && boolParameter(initial) || !asked && (revision == "" || revision == "0")
	}
	if q.Get("labelSelector") == "" && q.Get("fieldSelector") == "" {
		limit, _ = strconv.ParseInt(q.Get("limit"), 10, 64) // what is no number is refused later
	}
	return max(0, limit), lists
}

// sample is how many objects the size of all is guessed from.
const sample = 4

// sizeOf is how many objects a resource has, or a namespace of it, and about how many bytes; of no more than limit, unless
// that is 0.
func (s *Server) sizeOf(resource schema.GroupResource, namespace string, limit int64) (count, bytes int) {
	snapshot, err := s.store.Snapshot(context.Background(), store.AtLeast(0)) // which never waits
	if err != nil {
		return 0, 0 // the store is closed, and the request will be told
	}
	prefix := object.Prefix(resource, namespace)
	count = snapshot.Len(prefix, "")
	if limit > 0 {
		count = int(min(limit, int64(count)))
	}
	seen := 0
	snapshot.Scan(prefix, "", func(o *object.Object) bool {
		bytes += o.Size()
		seen++
		return seen < sample
	})
	return count, bytes / max(1, seen) * count
}
