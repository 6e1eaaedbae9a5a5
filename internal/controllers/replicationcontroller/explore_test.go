package replicationcontroller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/controllers/replicationcontroller"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsCreateNoExcessPods(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, resizing(trial.Of(replicationcontroller.Add).Once()))
}

func TestTwoControllersCreateNoExcessPods(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, resizing(trial.Of(replicationcontroller.Add).Twice()))
}

// resizing returns a scenario in which a ReplicationController is scaled and loses pods.
func resizing(processes []bowlinetest.Process) bowlinetest.Scenario {
	template := trial.Web()
	rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	rc.Spec = corev1.ReplicationControllerSpec{Replicas: ptr.To[int32](2), Selector: template.Labels,
		Template: &template}
	return trial.Replicas("ReplicationController", rc, processes)
}
