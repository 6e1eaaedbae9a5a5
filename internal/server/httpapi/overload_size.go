package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/store"
)

// listed reports whether a request reads a list of objects, and the maximum number, 0 for all. A page reads
// as many as its limit, unless selectors skip objects. A watch reads a list if its client asks for the
// initial state, or names no revision.
func listed(target *request.Route, r *http.Request) (limit int64, lists bool) {
	q := r.URL.Query()
	lists = true
	if target.Verb == "watch" {
		_, explicit := q["sendInitialEvents"]
		revision := q.Get("resourceVersion")
		lists = request.Flag(q, "sendInitialEvents") || !explicit && (revision == "" || revision == "0")
	}
	if q.Get("labelSelector") == "" && q.Get("fieldSelector") == "" {
		limit, _ = strconv.ParseInt(q.Get("limit"), 10, 64) // an invalid number is refused later
	}
	return max(0, limit), lists
}

// sample is the number of objects from which the size of all is estimated.
const sample = 4

// sizeOf estimates the number of objects of a resource, or of a namespace of it, and their bytes; of at most
// limit objects unless that is 0.
func (h *Handler) sizeOf(resource schema.GroupResource, namespace string, limit int64) (count, bytes int) {
	snapshot, err := h.o.Store.Snapshot(context.Background(), store.AtLeast(0)) // never waits
	if err != nil {
		return 0, 0 // the store is closed; reading it will fail the request
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
