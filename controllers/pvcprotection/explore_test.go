package pvcprotection_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controllers/pvcprotection"
)

func TestNoFaultTakesAClaimThatIsUsedOrKeepsOneThatIsNot(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  trial.Of(pvcprotection.Add).Twice(),
		Act:        useAndDelete,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{keptWhileUsed},
		Budget:     30,
	})
}

// useAndDelete deletes a claim that a pod on a node uses, and a minute later the pod.
func useAndDelete(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	claims, pods := client.For[*corev1.PersistentVolumeClaim](c), client.For[*corev1.Pod](c)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	if _, err := claims.Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "user", Namespace: "default"}}
	pod.Spec.NodeName = "n1"
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := claims.Delete(ctx, "default", "data", metav1.DeleteOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	return pods.Delete(ctx, "default", "user", metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
}

// keptWhileUsed is broken when the pod is there and its claim is not.
func keptWhileUsed(s bowlinetest.State) error {
	if s.Find("Pod", "default", "user") != nil && s.Find("PersistentVolumeClaim", "default", "data") == nil {
		return errors.New("the claim of a pod is gone")
	}
	return nil
}
