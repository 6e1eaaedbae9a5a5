package informer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// definitions are where resources that a server does not bring along come from.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// longestAwait is when to look for the resource again although no definition was heard of: it may come by other means.
const longestAwait = 30 * time.Second

// definitionAppears waits for the CustomResourceDefinition of a resource that is not there. It is false when waiting
// for one is no use, because there is one, or none can be watched for.
func (r *reflector[T]) definitionAppears(ctx context.Context) bool {
	name := r.resource.Resource + "." + r.resource.Group
	options := client.Options{Fields: fields.OneTermEqualSelector("metadata.name", name)}
	list, err := r.source.List(ctx, definitions, options)
	if err != nil || len(list.Items) > 0 {
		return false
	}
	options.After = list.Revision
	watching, err := r.source.Watch(ctx, definitions, options)
	if err != nil {
		return false
	}
	defer watching.Stop()
	ctx, cancel := context.WithTimeout(ctx, longestAwait)
	defer cancel()
	if _, err := watching.Next(ctx); err != nil {
		return ctx.Err() != nil
	}
	r.backoff.reset()
	return true
}
