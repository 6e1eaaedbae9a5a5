package server_test

import (
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// updateHook is a plugin that calls a function during the admission of each update of a config map.
type updateHook struct{ call func() }

func (updateHook) Name() string { return "UpdateHook" }

func (updateHook) Handles(o admission.Operation, resource resourceOf, _ string) bool {
	return o == admission.Update && resource.Resource == "configmaps"
}

func (updateHook) Admit(ctx, *admission.Attributes, admission.Reader) error { return nil }

func (h updateHook) Validate(ctx, *admission.Attributes, admission.Reader) error {
	h.call()
	return nil
}

// An update of an object that is deleted during admission is a 404, even if it names a revision, not a
// conflict.
func TestUpdateOfConcurrentlyDeletedObjectIsNotFound(t *testing.T) {
	t.Parallel()
	var w *testPlane
	plugin := updateHook{sync.OnceFunc(func() {
		if err := w.clients.CoreV1().ConfigMaps("default").Delete(t.Context(), "a",
			metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})}
	w = start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{plugin} })
	maps := w.clients.CoreV1().ConfigMaps("default")
	cm := must(maps.Create(t.Context(), configMap("a"), metav1.CreateOptions{}))(t)
	cm.Data = map[string]string{"changed": "yes"}
	if _, err := maps.Update(t.Context(), cm, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the update returned %v", err)
	}
}
