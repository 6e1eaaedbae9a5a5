package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// counted is a Go type for ConfigMaps with a number in data, which real ConfigMaps do not fit.
type counted struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              struct {
		N int `json:"n"`
	} `json:"data"`
}

func (c *counted) DeepCopyObject() runtime.Object {
	out := *c
	c.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// mirror simulates an external resource for each object, and removes it when the object is deleted.
type mirror struct {
	objects *controller.Objects[*counted]
	looks   []time.Time
	last    error // of the last look
	removed bool
}

func (m *mirror) Reconcile(_ context.Context, r controller.Request) (controller.Result, error) {
	m.looks = append(m.looks, time.Now())
	_, m.last = m.objects.Get(r.Namespace, r.Name)
	if apierrors.IsNotFound(m.last) {
		m.removed = true
		return controller.Result{}, nil
	}
	return controller.Result{}, m.last
}

// A controller that starts must not regard an object that cannot be decoded as deleted, because it would remove its
// external resource. The object may be in any of the manager's namespaces.
func TestUndecodableObjectIsRetried(t *testing.T) {
	t.Parallel()
	sources := map[string]func(w *testPlane) client.Source{
		"in process": func(w *testPlane) client.Source { return w.plane.Source() },
		"wire":       func(w *testPlane) client.Source { return client.NewSource(w.client) },
	}
	for from, source := range sources {
		t.Run(from, func(t *testing.T) {
			withPlane(t, func(w *testPlane) {
				w.create("default", "bad")
				w.patch("bad", `{"data":{"n":"many"}}`)
				m := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{
					Source: source(w), Namespaces: []string{"default", "kube-system"},
				})
				reconciler := &mirror{objects: controller.ObjectsOf[*counted](m, configMaps)}
				trigger := &controller.Trigger{}
				trigger.Add(controller.Request{Namespace: "default", Name: "bad"})
				if err := m.Build("mirror").For(reconciler.objects).Watches(trigger).Complete(reconciler); err != nil {
					w.Fatal(err)
				}
				r := run(m)
				time.Sleep(time.Hour)
				synctest.Wait() // a reconciliation may be running
				reconciler.expectRetained(w)
				if err := w.maps.Delete(w.Context(), "default", "bad", metav1.DeleteOptions{}); err != nil {
					w.Fatal(err)
				}
				time.Sleep(time.Minute) // the deletion causes a reconciliation before the next retry
				if err := r.stop(); err != nil || !reconciler.removed {
					w.Errorf("after the deletion, the external resource is removed: %t; Run returned %v",
						reconciler.removed,
						err)
				}
			})
		})
	}
}

// expectRetained checks that nothing is removed in an hour, and that the object is retried with increasing delays.
func (m *mirror) expectRetained(w *testPlane) {
	w.Helper()
	var unreadable *informer.UnreadableError
	if m.removed || !errors.As(m.last, &unreadable) {
		w.Fatalf("removed: %t, after %v", m.removed, m.last)
	}
	var decodeError *client.DecodeError
	if !errors.As(m.last, &decodeError) || decodeError.Field != "data.n" || unreadable.UID == "" {
		w.Errorf("the error does not name the problem: %v", m.last)
	}
	n := len(m.looks)
	if n < 10 || n > 30 || m.looks[n-1].Sub(m.looks[n-2]) < 10*time.Minute {
		w.Errorf("got %d reconciles: %v", n, m.looks)
	}
}

// patch changes a ConfigMap of the namespace default.
func (w *testPlane) patch(name, patch string) {
	w.Helper()
	if _, err := w.maps.Patch(w.Context(), "default", name, "", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}
