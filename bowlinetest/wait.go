package bowlinetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/client"
)

// Wait waits until wanted returns true for a state of an object, and returns that state, which the caller owns. It
// watches the object and calls wanted for each state, so unlike polling it also finds states that last only a
// moment. The namespace is empty for cluster-scoped kinds. When the plane's Timeout has passed, Wait ends
// the test and prints the object's last state.
func Wait[T client.Object](t testing.TB, p *Plane, namespace, name string, wanted func(T) bool) T {
	t.Helper()
	var last *T
	await(t, p, namespace, name, func(object *T) bool {
		last = object
		return object != nil && wanted(*object)
	})
	return *last
}

// WaitForDeletion waits until no object of the type has that name. When the plane's Timeout has passed, it ends the
// test and prints the object's last state.
func WaitForDeletion[T client.Object](t testing.TB, p *Plane, namespace, name string) {
	t.Helper()
	await(t, p, namespace, name, func(object *T) bool { return object == nil })
}

// await tracks an object until wanted returns true for its state, which is nil while the object does not exist.
func await[T client.Object](t testing.TB, p *Plane, namespace, name string, wanted func(*T) bool) {
	t.Helper()
	kind, target := mappingFor[T](t, p)
	f := following[T]{
		resource: client.Of[T](p.client, target.GroupVersionResource), namespace: namespace,
		options: metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()},
		wanted:  wanted,
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.settings.timeout)
	defer cancel()
	var err error
	for done := false; !done && err == nil; {
		done, err = f.follow(ctx)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		t.Fatalf("the %s %s did not meet the condition within %s; %s", kind, key(namespace, name), p.settings.timeout,
			printed(f.last))
	default:
		t.Fatalf("waiting for the %s %s: %v", kind, key(namespace, name), err)
	}
}

func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// following is an object that await tracks.
type following[T client.Object] struct {
	resource  client.Resource[T]
	namespace string
	options   metav1.ListOptions
	wanted    func(*T) bool
	last      *T
}

// follow lists and watches the object until wanted accepts its state (done) or the watch ends.
func (f *following[T]) follow(ctx context.Context) (done bool, err error) {
	page, err := f.resource.List(ctx, f.namespace, f.options)
	if err != nil {
		return false, err
	}
	f.last = nil
	if len(page.Items) > 0 {
		f.last = &page.Items[0]
	}
	if f.wanted(f.last) {
		return true, nil
	}
	watchOptions := f.options
	watchOptions.ResourceVersion = page.ResourceVersion
	stream, err := f.resource.Watch(ctx, f.namespace, watchOptions)
	if err != nil {
		return false, err
	}
	defer stream.Stop()
	for {
		event, object, err := stream.Next()
		if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return false, ctx.Err()
		}
		if err != nil {
			return false, err
		}
		switch event {
		case watch.Bookmark:
			continue
		case watch.Deleted:
			f.last = nil
		default:
			f.last = &object
		}
		if f.wanted(f.last) {
			return true, nil
		}
	}
}

// printed formats an object for the message of a failed test.
func printed[T client.Object](object *T) string {
	if object == nil {
		return "it does not exist"
	}
	(*object).SetManagedFields(nil)
	text, err := yaml.Marshal(*object)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("it is\n%s", text)
}
