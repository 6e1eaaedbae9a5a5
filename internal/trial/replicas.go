package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
)

// Web returns a template of pods with the label app=web.
func Web() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
}

// Replicas returns a scenario in which processes maintain the pods of a set called web, such as a ReplicaSet,
// with the template Web. Users create the set, then a pod of their own that its selector matches, and then
// scale the set to four and to one. The set must never have more than four pods, its largest size.
func Replicas[T client.Object](kind string, set T, processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{Alone(), bowlinetest.Manage(Running)},
		Processes:  processes,
		Act:        scaleUpAndDown(set),
		Settle:     4 * time.Minute,
		Invariants: []func(bowlinetest.State) error{checkReplicas(kind)},
		Compare:    normalizePods,
		Skip:       Events,
		Budget:     30,
	}
}

// scaleUpAndDown performs the users' actions.
func scaleUpAndDown[T client.Object](set T) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		c, err := client.New(config)
		if err != nil {
			return err
		}
		sets := client.For[T](c)
		if _, err := sets.Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return err
		}
		time.Sleep(5 * time.Second)
		stray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Namespace: "default", Labels: Web().Labels},
			Spec: Web().Spec}
		if _, err := client.For[*corev1.Pod](c).Create(ctx, stray, metav1.CreateOptions{}); err != nil {
			return err
		}
		for _, size := range []int{4, 1} {
			time.Sleep(5 * time.Second)
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, size)
			if _, err := sets.Patch(ctx, "default", "web", "", types.MergePatchType, patch,
				metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		return nil
	}
}

// checkReplicas returns an invariant that fails when the set has created more pods than its largest size, or has
// deleted all of them after its status reported some.
func checkReplicas(kind string) func(bowlinetest.State) error {
	return func(s bowlinetest.State) error {
		made, left := 0, 0
		for _, pod := range s.Kind("Pod") {
			if pod.GetDeletionTimestamp() != nil {
				continue
			}
			if left++; pod.GetName() != "stray" {
				made++
			}
		}
		const most = 4
		if made > most {
			return fmt.Errorf("the set has %d pods, want at most %d", made, most)
		}
		if set := s.Find(kind, "default", "web"); set != nil && left == 0 {
			if replicas, _, _ := unstructured.NestedInt64(set.Object, "status", "replicas"); replicas > 0 {
				return errors.New("the set has no pod, want at least one")
			}
		}
		return nil
	}
}

// normalizePods removes random differences. The pods of a set are interchangeable: which of them are deleted when it
// shrinks, and whether the user's pod is among them, depends on the order in which they were observed. The
// comparison covers the number of pods, their owners and their specs.
func normalizePods(s bowlinetest.State) bowlinetest.State {
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
