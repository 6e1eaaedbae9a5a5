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
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/pvcprotection"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestClaimsAreProtectedDespiteFaults(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  trial.Of(pvcprotection.Add).Twice(),
		Act:        useAndDelete,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{retainedWhileUsed},
		Budget:     30,
	})
}

// useAndDelete deletes a claim that a pod uses and, a minute later, the pod, which is then replaced by one of
// the same name that does not use the claim.
func useAndDelete(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	claims, pods := client.For[*corev1.PersistentVolumeClaim](c), client.For[*corev1.Pod](c)
	if _, err := claims.Create(ctx, claim("data"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := pods.Create(ctx, podOn("n1", "data"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := claims.Delete(ctx, "default", "data", metav1.DeleteOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	if err := pods.Delete(ctx, "default", "user", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		return err
	}
	_, err = pods.Create(ctx, podOn("n1", "other"), metav1.CreateOptions{})
	return err
}

// claim returns a claim of 1 GiB.
func claim(name string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return c
}

// podOn returns a pod on a node that uses a claim.
func podOn(node, claim string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "user", Namespace: "default",
		Labels: map[string]string{"uses": claim}}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	return pod
}

// retainedWhileUsed fails if the first pod exists and its claim does not.
func retainedWhileUsed(s bowlinetest.State) error {
	pod := s.Find("Pod", "default", "user")
	if pod != nil && pod.GetLabels()["uses"] == "data" && s.Find("PersistentVolumeClaim", "default", "data") == nil {
		return errors.New("the claim was deleted while a pod used it")
	}
	return nil
}
