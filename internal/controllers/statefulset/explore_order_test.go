package statefulset_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/statefulset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// The first pod is lost, and the set is scaled up at once. A controller that has not observed the loss does
// not create the last pod before the first one is back.
func TestPodWaitsForPredecessors(t *testing.T) {
	t.Parallel()
	s := scenario(trial.Of(statefulset.Add).Once())
	s.Act, s.Invariants, s.Budget = loseFirstPod, []func(bowlinetest.State) error{onePerOrdinal, inOrder}, 0
	s.Skip = func(p bowlinetest.Point) bool { return p.Resource != "pods" }
	bowlinetest.Explore(t, s)
}

func loseFirstPod(ctx context.Context, config *rest.Config) error {
	if err := create(ctx, config, appsv1.RetainPersistentVolumeClaimRetentionPolicyType); err != nil {
		return err
	}
	c, err := client.New(config)
	if err != nil {
		return err
	}
	time.Sleep(time.Minute)
	if err := client.For[*corev1.Pod](c).Delete(ctx, "default", "web-0", metav1.DeleteOptions{}); err != nil {
		return err
	}
	bigger := []byte(`{"spec":{"replicas":4}}`)
	_, err = client.For[*appsv1.StatefulSet](c).Patch(ctx, "default", "web", "", types.MergePatchType, bigger,
		metav1.PatchOptions{})
	return err
}

// inOrder fails if the last pod exists while the first one is not ready.
func inOrder(s bowlinetest.State) error {
	if s.Find("Pod", "default", "web-3") == nil {
		return nil
	}
	phase := ""
	if pod := s.Find("Pod", "default", "web-0"); pod != nil {
		phase, _, _ = unstructured.NestedString(pod.Object, "status", "phase")
	}
	if phase != "Running" {
		return fmt.Errorf("web-3 was created while web-0 is %q", phase)
	}
	return nil
}
