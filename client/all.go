package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// All yields all objects that match options, fetching one page of options.Limit objects at a time (500 by
// default), so that the whole list is never in memory:
//
//	for pod, err := range pods.All(ctx, "", metav1.ListOptions{}) { ... }
//
// All pages are of the same revision, unless the loop takes so long that the server compacts it. The remaining pages
// are then of a newer revision, and objects that changed in between may be missing or yielded twice. All yields an
// error at most once, as the last value. The error wraps ErrIncomplete if the server has matching objects that it
// cannot decode.
func (r Resource[T]) All(ctx context.Context, namespace string, options metav1.ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if options.Limit == 0 {
			options.Limit = 500 // as client-go's pager and kubectl do
		}
		anyIncomplete := false
		for {
			list, incomplete, err := r.endpoint.nextPage(ctx, namespace, &options)
			if err != nil {
				yield(*new(T), err)
				return
			}
			anyIncomplete = anyIncomplete || incomplete
			for i, data := range list.Items {
				obj, err := r.item(list, i, data)
				if !yield(obj, err) || err != nil {
					return
				}
			}
			if options.Continue = list.Metadata.Continue; options.Continue == "" {
				break
			}
		}
		if anyIncomplete {
			yield(*new(T), fmt.Errorf("%s: %w", r.endpoint.name(), ErrIncomplete))
		}
	}
}

// ErrIncomplete is the last value that All yields if the server has matching objects that it cannot decode.
var ErrIncomplete = errors.New("the list is incomplete: the server has objects that it cannot decode")
