package informer

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
)

// definitions are where resources that a server does not bring along come from.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

const (
	// quietAwait is how long a resource may be missing before that is said: whoever applies a definition while its
	// controller starts has no use for the news.
	quietAwait = time.Second
	// longestAwait is when to look for the resource again although no definition was heard of: it may come by other means.
	longestAwait = 30 * time.Second
)

// await waits for a resource that was not found, or until it is time to look for it again.
func (r *reflector[T]) await(ctx context.Context, notFound error) {
	if r.absence.IsZero() {
		r.absence = time.Now()
	}
	longest := quietAwait - time.Since(r.absence)
	if longest <= 0 {
		r.complain(notFound)
		longest = longestAwait
	}
	if !r.definitionAppears(ctx, longest) {
		sleep(ctx, r.backoff.next())
	}
}

// definitionAppears waits for the CustomResourceDefinition of a resource that is not there, so long at most. It is false
// when waiting for one is no use, because there is one, or none can be watched for.
func (r *reflector[T]) definitionAppears(ctx context.Context, longest time.Duration) bool {
	name := r.resource.Resource + "." + r.resource.Group
	options := client.Options{Fields: fields.OneTermEqualSelector("metadata.name", name)}
	list, err := r.source.List(ctx, definitions, options)
	if err != nil {
		return false
	}
	watching := list.Following
	if watching == nil && len(list.Items) == 0 {
		options.After = list.Revision
		if watching, err = r.source.Watch(ctx, definitions, options); err != nil {
			return false // there is no watch to stop then, whatever the source returned beside the error
		}
	}
	if watching != nil {
		defer watching.Stop()
	}
	if len(list.Items) > 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		events, err := watching.Next(ctx)
		if err != nil {
			return ctx.Err() != nil
		}
		if slices.ContainsFunc(events, func(e client.Event) bool { return e.Type == watch.Added || e.Type == watch.Modified }) {
			r.backoff.reset()
			return true
		}
	}
}
