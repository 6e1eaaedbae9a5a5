package daemonset_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/daemonset"
)

// On each of many nodes pods fail as soon as they are made, for an hour. Each node's is made a dozen times, and not without end.
func TestPodsThatAlwaysFailAreMadeLessAndLessOften(t *testing.T) {
	t.Parallel()
	const nodes, hour = 30, time.Hour
	var all []client.Object
	for i := range nodes {
		all = append(all, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}})
	}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "default"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	made := map[types.UID]bool{}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		if err := ready(t.Context(), p.Config()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(hour)
	}, trial.Alone(), bowlinetest.Objects(append(all, set)...), bowlinetest.Manage(func(m *controller.Manager) error {
		daemonset.Add(m)
		return trial.Nodes(0, func(pod *corev1.Pod, _ []*corev1.Pod) {
			made[pod.UID] = true
			pod.Status.Phase = corev1.PodFailed
		})(m)
	}))
	// The pauses of an hour are of 1, 2, 4 seconds and so on, up to 15 minutes: twelve of them, or one more.
	if most, least := 14*nodes, 8*nodes; len(made) > most || len(made) < least {
		t.Errorf("%d pods were made, and should be %d to %d", len(made), least, most)
	}
}
