package simulated_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/bowlinetest"
)

// interferingPlugin is an admission plugin that changes a pod once, right before its last status is written, and
// records the phase in which it is deleted.
type interferingPlugin struct {
	change func(pod *corev1.Pod) error
	done   bool
	last   corev1.PodPhase
}

func (*interferingPlugin) Name() string { return "interfering" }

func (*interferingPlugin) Handles(op admission.Operation, resource schema.GroupResource, subresource string) bool {
	return resource.Resource == "pods" && (op == admission.Delete || op == admission.Update && subresource == "status")
}

func (*interferingPlugin) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

func (m *interferingPlugin) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	old := a.Old.(*corev1.Pod)
	if a.Operation == admission.Delete {
		m.last = old.Status.Phase
		return nil
	}
	if pod := a.Object.(*corev1.Pod); pod.Status.Phase != corev1.PodSucceeded || m.done {
		return nil
	}
	m.done = true
	return m.change(old)
}

// A pod is changed while its last status is being written. Clients must still observe how it ended.
func TestPodsAreDeletedAfterTheirLastStatusWrite(t *testing.T) {
	t.Parallel()
	m := &interferingPlugin{}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		m.change = func(pod *corev1.Pod) error {
			label := []byte(`{"metadata":{"labels":{"a":"b"}}}`)
			_, err := pods.Patch(t.Context(), pod.Namespace, pod.Name, "", types.MergePatchType, label,
				metav1.PatchOptions{})
			return err
		}
		if _, err := pods.Create(t.Context(), bound("web", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if err := pods.Delete(t.Context(), "default", "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		bowlinetest.WaitForDeletion[*corev1.Pod](t, p, "default", "web")
		if m.last != corev1.PodSucceeded || !m.done {
			t.Errorf("got phase %s at the deletion, want Succeeded", m.last)
		}
	}, nodes(1, 0), bowlinetest.With(func(o *bowline.Options) { o.Plugins = append(o.Plugins, m) }))
}
