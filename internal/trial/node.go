package trial

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Nodes simulates nodes: some time after the creation of each pending pod, which is known to the second,
// become changes a copy of it. The pods in all are the current pods and must not be modified. Use it with
// bowlinetest.Manage.
func Nodes(after time.Duration, become func(pod *corev1.Pod, all []*corev1.Pod)) func(*controller.Manager) error {
	return func(m *controller.Manager) error {
		all := informer.For[*corev1.Pod](m.Informers(), pods)
		writes := client.Of[*corev1.Pod](m.Client(), pods)
		m.Add(controller.Options{
			Name:    "nodes",
			Sources: []controller.Source{controller.For(all)},
			Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result,
				error) {
				pod, ok := all.Indexer().Get(request)
				if !ok || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
					return controller.Result{}, nil
				}
				if wait := time.Until(pod.CreationTimestamp.Add(after)); wait > 0 {
					return controller.Result{RequeueAfter: wait}, nil
				}
				pod = pod.DeepCopy()
				become(pod, all.Indexer().List())
				_, err := writes.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
				return controller.Result{}, err
			}),
		})
		return nil
	}
}

// Running makes each pod running and ready two seconds after its creation. Use it with bowlinetest.Manage.
func Running(m *controller.Manager) error {
	return Nodes(2*time.Second, func(pod *corev1.Pod, _ []*corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{ready()}
	})(m)
}

func ready() corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
}
