package statefulset_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/controllers/pvcprotection"
	"github.com/bowline-dev/bowline/internal/controllers/statefulset"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsCreateOnePodPerOrdinal(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, scenario(trial.Of(statefulset.Add).Once()))
}

func TestTwoControllersCreateOnePodPerOrdinal(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, scenario(trial.Of(statefulset.Add).Twice()))
}

// A claim is deleted with the condemned pod, a pod that is created again gets a new claim, and the remaining
// claims are deleted with the set.
func TestFaultsLeaveNoClaims(t *testing.T) {
	t.Parallel()
	s := scenario(trial.Of(statefulset.Add).Once())
	s.Options = []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		garbagecollector.Add(m)
		pvcprotection.Add(m)
		return trial.Running(m)
	})}
	s.Invariants = []func(bowlinetest.State) error{onePerOrdinal, withClaims}
	s.Act = func(ctx context.Context, config *rest.Config) error {
		if err := create(ctx, config, appsv1.DeletePersistentVolumeClaimRetentionPolicyType); err != nil {
			return err
		}
		return change(ctx, config, `{"spec":{"replicas":1}}`, `{"spec":{"replicas":2}}`, "")
	}
	bowlinetest.Explore(t, s)
}

// scenario changes the template of a set of three pods and scales it down, and injects faults in between.
func scenario(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(trial.Running)},
		Processes:  processes,
		Act:        act,
		Settle:     3 * time.Minute,
		Invariants: []func(bowlinetest.State) error{onePerOrdinal, oneAtATime, withClaims},
		Compare:    byName,
		Skip:       trial.Events,
		Budget:     30,
	}
}

// act changes the set as a user would.
func act(ctx context.Context, config *rest.Config) error {
	if err := create(ctx, config, appsv1.RetainPersistentVolumeClaimRetentionPolicyType); err != nil {
		return err
	}
	return change(ctx, config, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}`,
		`{"spec":{"replicas":2}}`)
}

// create creates a set of three pods with a retention policy for its claims.
func create(ctx context.Context, config *rest.Config, retention appsv1.PersistentVolumeClaimRetentionPolicyType) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	labels := map[string]string{"app": "web"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	set.Spec.Replicas = new(int32(3))
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: retention, WhenScaled: retention,
	}
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
	_, err = client.For[*appsv1.StatefulSet](c).Create(ctx, set, metav1.CreateOptions{})
	return err
}

// change applies patches to the set, each after a minute, which is longer than any delay. An empty patch
// deletes the set.
func change(ctx context.Context, config *rest.Config, patches ...string) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	sets := client.For[*appsv1.StatefulSet](c)
	for _, patch := range patches {
		time.Sleep(time.Minute)
		if patch == "" {
			err = sets.Delete(ctx, "default", "web", metav1.DeleteOptions{})
		} else {
			_, err = sets.Patch(ctx, "default", "web", "", types.StrategicMergePatchType, []byte(patch),
				metav1.PatchOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// byName compares pods by name: it clears generateName, since the names are not random.
func byName(s bowlinetest.State) bowlinetest.State {
	for _, pod := range s.Kind("Pod") {
		pod.SetGenerateName("")
	}
	return s
}

// onePerOrdinal fails if two pods have the same ordinal in their labels.
func onePerOrdinal(s bowlinetest.State) error {
	of := map[string]string{}
	for _, pod := range s.Kind("Pod") {
		ordinal := pod.GetLabels()[appsv1.PodIndexLabel]
		if other := of[ordinal]; other != "" {
			return fmt.Errorf("pods %s and %s have the same ordinal %s", other, pod.GetName(), ordinal)
		}
		of[ordinal] = pod.GetName()
	}
	return nil
}

// oneAtATime fails if more than one of the pods up to the highest ordinal is missing or not ready.
func oneAtATime(s bowlinetest.State) error {
	highest, ready := -1, 0
	for _, pod := range s.Kind("Pod") {
		ordinal, err := strconv.Atoi(pod.GetLabels()[appsv1.PodIndexLabel])
		if err != nil {
			return err
		}
		highest = max(highest, ordinal)
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == "Running" {
			ready++
		}
	}
	if missing := highest + 1 - ready; missing > 1 {
		return fmt.Errorf("got %d of %d pods missing or not ready, want at most 1", missing, highest+1)
	}
	return nil
}

// withClaims fails if the claim of a pod does not exist, unless the set has been deleted.
func withClaims(s bowlinetest.State) error {
	if s.Find("StatefulSet", "default", "web") == nil {
		return nil
	}
	for _, pod := range s.Kind("Pod") {
		if s.Find("PersistentVolumeClaim", "default", "data-"+pod.GetName()) == nil {
			return fmt.Errorf("pod %s has no claim", pod.GetName())
		}
	}
	return nil
}
