package pvprotection_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// bindAndDelete deletes a volume that is bound and, a minute later, releases it.
func bindAndDelete(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	volumes := client.For[*corev1.PersistentVolume](c)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/data"}
	if volume, err = volumes.Create(ctx, volume, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, phase := range []corev1.PersistentVolumePhase{corev1.VolumeBound, corev1.VolumeReleased} {
		volume.Status.Phase, volume.ResourceVersion = phase, ""
		if volume, err = volumes.UpdateStatus(ctx, volume, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if phase == corev1.VolumeBound {
			if err := volumes.Delete(ctx, "", "data", metav1.DeleteOptions{}); err != nil {
				return err
			}
			time.Sleep(time.Minute)
		}
	}
	return nil
}

// retainedWhileBound fails if the bound volume has lost its finalizer although it is being deleted.
func retainedWhileBound(s bowlinetest.State) error {
	v := s.Find("PersistentVolume", "", "data")
	if v == nil {
		return nil
	}
	phase, _, _ := unstructured.NestedString(v.Object, "status", "phase")
	if phase == string(corev1.VolumeBound) && v.GetDeletionTimestamp() != nil && len(v.GetFinalizers()) == 0 {
		return errors.New("a bound volume lost its finalizer")
	}
	return nil
}
