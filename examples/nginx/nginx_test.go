// Package nginx_test is the example in virtual time, where minutes cost nothing: what a script cannot wait for.
package nginx_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// everything is what `bowline up --nodes 3` runs.
func everything() []bowlinetest.Option {
	return []bowlinetest.Option{
		bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{"*"} }),
		bowlinetest.Manage(func(m *controller.Manager) error {
			simulated.Add(m, simulated.Options{Nodes: 3})
			return nil
		}),
	}
}

func TestThePodsOfAKilledNodeMove(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, read(t, "nginx.yaml"))
		pass(time.Minute)
		before := running(t, p)
		if len(before) != 2 {
			t.Fatalf("%d pods run, want 2", len(before))
		}
		dead := before[0].Spec.NodeName
		patch := []byte(`{"metadata":{"annotations":{"` + simulated.Prefix + `dead":"true"}}}`)
		if _, err := bowlinetest.Client[*corev1.Node](t, p).Patch(t.Context(), "", dead, "", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		after := running(t, p)
		if len(after) != 2 {
			t.Fatalf("%d pods run, want 2", len(after))
		}
		for _, pod := range after {
			if pod.Spec.NodeName == dead {
				t.Errorf("pod %s is still on the dead node %s", pod.Name, dead)
			}
		}
	}, everything()...)
}

// pass lets time pass, and everybody do what follows from it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// running are the pods that are ready and not being deleted.
func running(t *testing.T, p *bowlinetest.Plane) (ready []*corev1.Pod) {
	t.Helper()
	page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default", metav1.ListOptions{LabelSelector: "app=nginx"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range page.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				ready = append(ready, pod)
			}
		}
	}
	return ready
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
