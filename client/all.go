package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// All yields all objects that match options, fetching one page of options.Limit objects at a time (500 by
// default), so that the whole list is never in memory:
//
//	for pod, err := range pods.All(ctx, "", metav1.ListOptions{}) { ... }
//
// All pages show the same revision, unless iterating takes so long that the server compacts it. The remaining
// pages then show a newer revision, and changes made in between may be missed. An error is the last value
// yielded. The error is ErrIncomplete if the server stores objects that it cannot decode.
func (r Resource[T]) All(ctx context.Context, namespace string, options metav1.ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if options.Limit == 0 {
			options.Limit = 500 // as client-go's pager and kubectl do
		}
		lacking := false
		for {
			list, incomplete, err := r.page(ctx, namespace, &options)
			if err != nil {
				yield(*new(T), err)
				return
			}
			lacking = lacking || incomplete
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
		if lacking {
			yield(*new(T), fmt.Errorf("%s: %w", r.name(), ErrIncomplete))
		}
	}
}

// ErrIncomplete is yielded last by All when the server has more objects, which it cannot decode.
var ErrIncomplete = errors.New("the list is incomplete: the server has objects that it cannot read")

// page reads the next page of a list. If the continue token has expired and the server offers one for a newer
// revision, page continues with that.
func (r Resource[T]) page(ctx context.Context, namespace string, options *metav1.ListOptions) (*rawList, bool, error) {
	for {
		q, err := r.at(ctx, http.MethodGet, namespace, "", "")
		if err != nil {
			return nil, false, err
		}
		list, incomplete, err := r.list(ctx, r.client.options(q, options))
		status := apierrors.APIStatus(nil)
		if options.Continue == "" || !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
			return list, incomplete, err
		}
		next := status.Status().Continue
		if next == "" || next == options.Continue {
			return nil, false, err
		}
		options.Continue = next
	}
}
