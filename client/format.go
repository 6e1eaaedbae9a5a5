package client

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/wire"
)

// accept sets the Accept header for the Go type: protobuf, unless the server has none for this resource.
func (e endpoint) accept(q *rest.Request, found served) {
	_, onlyJSON := e.client.onlyJSON.Load(found.resource)
	if wire.TypeReadsProtobuf(e.goType) && !onlyJSON {
		q.SetHeader("Accept", runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON)
	}
}

// refused records that a server has no protobuf for the resource, and reports whether this was not known yet. Servers
// that use Kubernetes' library, such as aggregated ones, reject requests that accept both formats if their Go type has
// no protobuf. They do so after a write has taken effect.
func (e endpoint) refused(ctx context.Context, err error) bool {
	if !apierrors.IsNotAcceptable(err) || !wire.TypeReadsProtobuf(e.goType) {
		return false
	}
	found, err := e.find(ctx)
	if err != nil {
		return false
	}
	_, known := e.client.onlyJSON.LoadOrStore(found.resource, true)
	return !known
}

// inJSON repeats a request that may be sent twice, for a response in JSON.
func inJSON(q *rest.Request) *rest.Request { return q.SetHeader("Accept", runtime.ContentTypeJSON) }
