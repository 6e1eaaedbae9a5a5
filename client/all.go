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

// All yields all objects that match, and asks for one page of options.Limit objects after the other, so that no list is
// held whole: a loop over it is
//
//	for pod, err := range pods.All(ctx, "", metav1.ListOptions{}) { ... }
//
// They are of one state of the server, unless reading takes so long that the server forgets it: then what is left to
// read is of a newer one, and what changed in between may have been left out. An error is the last thing that it yields:
// ErrIncomplete when the server has objects that it cannot read.
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

// ErrIncomplete says that the server has more objects, which it cannot read.
var ErrIncomplete = errors.New("the list is incomplete: the server has objects that it cannot read")

// page reads the next part of a list. A state that the server has forgotten goes on as a newer one, if it offers that.
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
