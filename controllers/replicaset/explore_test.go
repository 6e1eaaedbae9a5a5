package replicaset_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controllers/replicaset"
)

func TestNoFaultMakesAPodTooMany(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, resizing(trial.Of(replicaset.Add).Once()))
}

func TestTwoControllersAtOnceMakeNoPodTooMany(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, resizing(trial.Of(replicaset.Add).Twice()))
}

// resizing is a replicaset whose size is changed, and whose pods come and go.
func resizing(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        resize,
		Settle:     4 * time.Minute,
		Invariants: []func(bowlinetest.State) error{enough},
		Compare:    equal,
		Skip:       trial.Events,
		Budget:     30,
	}
}

// resize is what users do: a replicaset of two, a pod of their own that matches it, another size, and less again.
func resize(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	sets, pods := client.For[*appsv1.ReplicaSet](c), client.For[*corev1.Pod](c)
	labels := map[string]string{"app": "web"}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	set.Spec.Replicas = new(int32(2))
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	if _, err := sets.Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	stray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Namespace: "default", Labels: labels}, Spec: spec}
	if _, err := pods.Create(ctx, stray, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, size := range []int{4, 1} {
		time.Sleep(5 * time.Second)
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, size)
		if _, err := sets.Patch(ctx, "default", "web", "", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// equal has a pod of the replicaset be as good as another: which ones are too many when it becomes smaller follows from when each was
// seen, and so does whether the user's own is among them. How many there are, whose they are, and what they run, is compared.
func equal(s bowlinetest.State) bowlinetest.State {
	owned := 0
	for _, pod := range s.Kind("Pod") {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Name == "web" {
			owned++
			pod.SetName(fmt.Sprintf("web-%d", owned))
			pod.SetGenerateName("")
		}
	}
	return s
}

// enough is broken when the replicaset has made more pods than it was ever to have.
func enough(s bowlinetest.State) error {
	made := 0
	for _, pod := range s.Kind("Pod") {
		if pod.GetName() != "stray" && pod.GetDeletionTimestamp() == nil {
			made++
		}
	}
	const most = 4
	if made > most {
		return fmt.Errorf("there are %d pods of the replicaset, and it was never to have more than %d", made, most)
	}
	return nil
}
