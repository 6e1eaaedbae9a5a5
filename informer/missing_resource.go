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

// definitions is the resource of custom resource definitions.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

const (
	// quietAbsence is how long a resource may be missing before that is logged: users often apply a definition
	// while its controller starts.
	quietAbsence = time.Second
	// maxAwait is how long to wait for a definition before listing again: a resource may also be served without one.
	maxAwait = 30 * time.Second
)

// awaitResource waits until a resource that was not found may exist.
func (r *reflector[T]) awaitResource(ctx context.Context, notFound error) {
	if r.absence.IsZero() {
		r.absence = time.Now()
	}
	timeout := quietAbsence - time.Since(r.absence)
	if timeout <= 0 {
		r.logFailure(notFound)
		timeout = maxAwait
	}
	if !r.definitionAppears(ctx, timeout) {
		sleep(ctx, r.backoff.next())
	}
}

// definitionAppears waits, at most timeout, for the CustomResourceDefinition of the resource. It returns
// false if waiting is useless, because the definition exists or cannot be watched.
func (r *reflector[T]) definitionAppears(ctx context.Context, timeout time.Duration) bool {
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
			return false // a Watch returned beside an error is not valid
		}
	}
	if watching != nil {
		defer watching.Stop()
	}
	if len(list.Items) > 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		events, err := watching.Next(ctx)
		if err != nil {
			return ctx.Err() != nil
		}
		if slices.ContainsFunc(events, func(e client.Event) bool {
			return e.Type == watch.Added || e.Type == watch.Modified
		}) {
			r.backoff.reset()
			return true
		}
	}
}
