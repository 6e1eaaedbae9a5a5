package vacprotection_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/vacprotection"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		vacprotection.Add(m)
		return nil
	}))
}

func TestClassesAreProtectedDespiteFaults(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  trial.Of(vacprotection.Add).Twice(),
		Act:        nameAndDelete,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{retainedWhileNamed},
		Budget:     30,
	})
}

// nameAndDelete deletes a class right after a claim names it, and the claim a minute later.
func nameAndDelete(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	classes, claims := client.For[*storagev1.VolumeAttributesClass](c), client.For[*corev1.PersistentVolumeClaim](c)
	class := &storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: "fast"},
		DriverName: "disk.example.com", Parameters: map[string]string{"iops": "5000"},
	}
	if _, err := classes.Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim.Spec.VolumeAttributesClassName = ptr.To("fast")
	if _, err := claims.Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := classes.Delete(ctx, "", "fast", metav1.DeleteOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	_, err = claims.Patch(ctx, "default", "data", "", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return claims.Delete(ctx, "default", "data", metav1.DeleteOptions{})
}

// retainedWhileNamed fails if the class was removed while the claim names it.
func retainedWhileNamed(s bowlinetest.State) error {
	if s.Find("PersistentVolumeClaim", "default", "data") != nil && s.Find("VolumeAttributesClass", "", "fast") == nil {
		return errors.New("the class was removed while a claim names it")
	}
	return nil
}
