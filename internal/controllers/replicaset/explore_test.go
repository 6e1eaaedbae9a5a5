package replicaset_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsCreateNoExcessPods(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, resizing(trial.Of(replicaset.Add).Once()))
}

func TestTwoControllersCreateNoExcessPods(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, resizing(trial.Of(replicaset.Add).Twice()))
}

// resizing returns a scenario in which a ReplicaSet is scaled and loses pods.
func resizing(processes []bowlinetest.Process) bowlinetest.Scenario {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	set.Spec.Replicas, set.Spec.Template = new(int32(2)), trial.Web()
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
	return trial.Replicas("ReplicaSet", set, processes)
}
