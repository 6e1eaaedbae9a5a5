// Package read serves the requests that read the store: get, list and watch, over HTTP and in process. It takes a
// request.Request and returns stored objects, as a request.Result, a Page or a Feed of events. It selects objects by
// their namespace, name, labels and fields; it encodes nothing.
package read

import (
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
)

// Options configure a Reader. All are required.
type Options struct {
	Store *store.Store
	Kinds *kind.Registry
	// Tasks are those of the server. Watches end when they are canceled.
	Tasks *tasks.Group
	// Authorizer decides about the requests of a Source. The caller of Get, List and Watch has authorized them.
	Authorizer auth.Authorizer
	// Undefined returns an error if a resource is not served because its definition cannot be read.
	Undefined func(schema.GroupResource) error
	// Timeout is how long a watch holds its seats while it sends its initial state.
	Timeout time.Duration
	// Computed computes the objects of kinds that are not stored, by their resources.
	Computed map[schema.GroupResource]Computed
	// Watching counts a watch of a Source as open until end is called.
	Watching func(*request.Route) (end func())
}

// Reader serves reads of one store. Its methods may be called concurrently.
type Reader struct {
	store      *store.Store
	kinds      *kind.Registry
	tasks      *tasks.Group
	authorizer auth.Authorizer
	undefined  func(schema.GroupResource) error
	timeout    time.Duration
	computed   map[schema.GroupResource]Computed
	watching   func(*request.Route) (end func())
}

// New returns a reader.
func New(o Options) *Reader {
	return &Reader{store: o.Store, kinds: o.Kinds, tasks: o.Tasks, authorizer: o.Authorizer, undefined: o.Undefined,
		timeout: o.Timeout, computed: o.Computed, watching: o.Watching}
}

// Get returns the latest state of one object. It fails if that state is older than the
// resourceVersion that the request demands.
func (r *Reader) Get(req *request.Request) (*request.Result, error) {
	if req.Query != nil {
		if request.Flag(req.Query, "export") {
			return nil, apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
		}
		if version := req.Query.Get("resourceVersion"); version != "" && version != "0" {
			revision, err := object.ParseRevision(version)
			if err != nil {
				return nil, status.InternalText(invalidRevision(version))
			}
			if now := r.store.Current(); revision > now {
				return nil, status.TooLarge(&store.FutureError{Requested: revision, Current: now})
			}
		}
	}
	req.Spans.At(stage.Read)
	if req.Info.Computed {
		return r.computedObject(req)
	}
	obj := r.store.Get(req.Key())
	if obj == nil {
		return nil, stored.Absent(r.store, req.Resource(), req.Key())
	}
	return &request.Result{Object: obj}, nil
}

// invalidRevision returns Kubernetes' text for a resourceVersion that is not a number.
func invalidRevision(v string) string {
	_, err := strconv.ParseUint(v, 10, 64)
	return fmt.Sprintf("resourceVersion: Invalid value: %q: %v", v, err)
}
