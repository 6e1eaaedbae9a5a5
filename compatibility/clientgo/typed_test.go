package clientgo

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// object is the type constraint of objects with typed clients.
type object interface {
	metav1.Object
	runtime.Object
}

// typedClient is the interface of client-go's generated client for a kind: T is the object, L its list, A its
// apply configuration.
type typedClient[T object, L runtime.Object, A any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Apply(context.Context, A, metav1.ApplyOptions) (T, error)
}

// Kinds with a status also have statusClient; all kinds except namespaces have collectionClient.
type (
	statusClient[T object, A any] interface {
		UpdateStatus(context.Context, T, metav1.UpdateOptions) (T, error)
		ApplyStatus(context.Context, A, metav1.ApplyOptions) (T, error)
	}
	collectionClient interface {
		DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	}
)

func TestTypedClientsReadAndWriteEveryKind(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			config := rest.CopyConfig(plane.Start(t))
			config.ContentType = contentType
			for _, k := range everyKind(t, config) {
				t.Run(k.String(), func(t *testing.T) {
					t.Parallel()
					k.testVerbs(t)
				})
			}
		})
	}
}

// typedKind is a kind with its typed client.
type typedKind[T object, L runtime.Object, A any] struct {
	client typedClient[T, L, A]
	// example is a valid object; the test sets its name.
	example T
	// status is set if the kind has a status; one is set if its collections cannot be deleted.
	status, one bool
	// declare returns an apply configuration of the same object with one annotation; extract is client-go's
	// ExtractX.
	declare func(name string) A
	extract func(T, string) (A, error)
}

// String returns a text such as apps-v1-deployment, which is also a valid object name.
func (k typedKind[T, L, A]) String() string {
	of := reflect.TypeOf(k.example).Elem()
	path := strings.Split(of.PkgPath(), "/")
	return strings.ToLower(strings.Join(append(path[len(path)-2:], of.Name()), "-"))
}

func (k typedKind[T, L, A]) named(name string) T {
	o := k.example.DeepCopyObject().(T)
	o.SetName(name)
	return o
}

// testVerbs uses all verbs on an object while a watch observes it.
func (k typedKind[T, L, A]) testVerbs(t *testing.T) {
	ctx := t.Context()
	list := plane.Must(k.client.List(ctx, metav1.ListOptions{}))(t)
	from := plane.Must(meta.ListAccessor(list))(t).GetResourceVersion()
	w := plane.Must(k.client.Watch(ctx,
		metav1.ListOptions{ResourceVersion: from, FieldSelector: "metadata.name=" + k.String()}))(t)
	defer w.Stop()

	o := plane.Must(k.client.Create(ctx, k.named(k.String()), metav1.CreateOptions{}))(t)
	expectEvent(t, w, watch.Added, o)
	if got := plane.Must(k.client.Get(ctx, k.String(), metav1.GetOptions{}))(t); !equality.Semantic.DeepEqual(got, o) {
		t.Errorf("get after create: got\n%v\nwant\n%v", got, o)
	}
	if n := len(plane.Must(meta.ExtractList(plane.Must(k.client.List(ctx, metav1.ListOptions{}))(t)))(t)); n < 1 {
		t.Errorf("got a list of %d objects, want at least one", n)
	}

	o.SetLabels(map[string]string{"step": "updated"})
	stale := o.DeepCopyObject().(T)
	o = plane.Must(k.client.Update(ctx, o, metav1.UpdateOptions{}))(t)
	expectEvent(t, w, watch.Modified, o)
	stale.SetLabels(map[string]string{"step": "late"})
	if _, err := k.client.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of an outdated object: got error %v, want a conflict", err)
	}
	if k.status {
		o.SetAnnotations(map[string]string{"step": "status"})
		o = plane.Must(k.client.(statusClient[T, A]).UpdateStatus(ctx, o, metav1.UpdateOptions{}))(t)
		expectEvent(t, w, watch.Modified, o)
	}
	k.testPatches(t)
	k.testDelete(t)
}

// testPatches sends each type of patch except apply.
func (k typedKind[T, L, A]) testPatches(t *testing.T) {
	for by, patch := range map[string]struct {
		kind types.PatchType
		body string
	}{
		"json":      {types.JSONPatchType, `[{"op":"add","path":"/metadata/annotations","value":{"by":"json"}}]`},
		"merge":     {types.MergePatchType, `{"metadata":{"annotations":{"by":"merge"}}}`},
		"strategic": {types.StrategicMergePatchType, `{"metadata":{"annotations":{"by":"strategic"}}}`},
	} {
		o, err := k.client.Patch(t.Context(), k.String(), patch.kind, []byte(patch.body), metav1.PatchOptions{})
		if err != nil {
			t.Errorf("%s: %v", patch.kind, err)
		} else if o.GetAnnotations()["by"] != by {
			t.Errorf("%s: got annotations %v, want by=%s", patch.kind, o.GetAnnotations(), by)
		}
	}
}

// testDelete deletes the object by name, and another one by its label.
func (k typedKind[T, L, A]) testDelete(t *testing.T) {
	ctx, now := t.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := k.client.Delete(ctx, k.String(), now); err != nil {
		t.Fatal(err)
	}
	if k.one {
		return
	}
	collection, name := k.client.(collectionClient), k.String()+"-of-many"
	o := k.named(name)
	o.SetLabels(map[string]string{"of": "many"})
	plane.Must(k.client.Create(ctx, o, metav1.CreateOptions{}))(t)
	if err := collection.DeleteCollection(ctx, now, metav1.ListOptions{LabelSelector: "of=many"}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.client.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get after deletecollection: got error %v, want NotFound", err)
	}
}

// expectEvent receives the next event of a watch, which must contain the object as it was written.
func expectEvent(t *testing.T, w watch.Interface, kind watch.EventType, o object) {
	t.Helper()
	e, ok := <-w.ResultChan()
	if !ok {
		t.Fatalf("the watch ended before the event %s", kind)
	}
	got, ok := e.Object.(object)
	if !ok || e.Type != kind || got.GetResourceVersion() != o.GetResourceVersion() {
		t.Errorf("got %s %v, want %s %s", e.Type, e.Object, kind, fmt.Sprint(o))
	}
}
