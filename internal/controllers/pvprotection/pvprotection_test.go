package pvprotection_test

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
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/pvprotection"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		pvprotection.Add(m)
		return nil
	}))
}

func TestVolumesAreProtectedDespiteFaults(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  trial.Of(pvprotection.Add).Twice(),
		Act:        bindAndDelete,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{retainedWhileBound},
		Budget:     30,
	})
}

// bindAndDelete deletes a volume that is bound and, a minute later, releases it. A ConfigMap exists from when the
// volume is bound until just before it is released.
func bindAndDelete(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	volumes, marks := client.For[*corev1.PersistentVolume](c), client.For[*corev1.ConfigMap](c)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/data"}
	if volume, err = volumes.Create(ctx, volume, metav1.CreateOptions{}); err != nil {
		return err
	}
	setPhase := func(phase corev1.PersistentVolumePhase) error {
		volume.Status.Phase, volume.ResourceVersion = phase, ""
		volume, err = volumes.UpdateStatus(ctx, volume, metav1.UpdateOptions{})
		return err
	}
	if err := setPhase(corev1.VolumeBound); err != nil {
		return err
	}
	bound := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bound", Namespace: "default"}}
	if _, err := marks.Create(ctx, bound, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := volumes.Delete(ctx, "", "data", metav1.DeleteOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	if err := marks.Delete(ctx, "default", "bound", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return setPhase(corev1.VolumeReleased)
}

// retainedWhileBound fails if the volume was removed while it was bound.
func retainedWhileBound(s bowlinetest.State) error {
	if s.Find("ConfigMap", "default", "bound") != nil && s.Find("PersistentVolume", "", "data") == nil {
		return errors.New("the volume was removed while it was bound")
	}
	return nil
}
