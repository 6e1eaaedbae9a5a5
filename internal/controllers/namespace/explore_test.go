package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/namespace"
	"github.com/bowline-dev/bowline/internal/trial"
)

// doomed fills a namespace, deletes it, later removes the finalizer that holds it, and recreates it with a
// ConfigMap.
func doomed(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	spaces, configs, running := client.For[*corev1.Namespace](c), client.For[*corev1.ConfigMap](c),
		client.For[*corev1.Pod](c)
	if _, err := spaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}},
		metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, cm := range []*corev1.ConfigMap{{ObjectMeta: meta("plain")},
		{ObjectMeta: meta("held", "example.com/hold")}} {
		if _, err := configs.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if _, err := running.Create(ctx, boundPod("lost", "gone"), metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Second)
	if err := spaces.Delete(ctx, "", "doomed", metav1.DeleteOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err = configs.Patch(ctx, "doomed", "held", "", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return err
	}
	return recreate(ctx, spaces, configs)
}

// recreate creates the namespace anew as soon as it is gone, with the ConfigMap kept.
func recreate(ctx context.Context, spaces client.Resource[*corev1.Namespace],
	configs client.Resource[*corev1.ConfigMap]) error {
	for range 1000 {
		time.Sleep(100 * time.Millisecond)
		_, err := spaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}},
			metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err == nil {
			_, err = configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta("kept")}, metav1.CreateOptions{})
		}
		if err == nil {
			filled := []byte(`{"metadata":{"labels":{"filled":"yes"}}}`)
			_, err = spaces.Patch(ctx, "", "doomed", "", types.MergePatchType, filled, metav1.PatchOptions{})
		}
		return err
	}
	return errors.New("the namespace was not deleted in time")
}

// recreatedContentExists fails if the content of the recreated namespace was deleted.
func recreatedContentExists(s bowlinetest.State) error {
	if ns := s.Find("Namespace", "", "doomed"); ns == nil || ns.GetLabels()["filled"] == "" {
		return nil
	}
	if kept := s.Find("ConfigMap", "doomed", "kept"); kept == nil || kept.GetDeletionTimestamp() != nil {
		return errors.New("the content of the recreated namespace was deleted")
	}
	return nil
}

// noObjectsWithoutNamespace fails if an object exists in a namespace that does not.
func noObjectsWithoutNamespace(s bowlinetest.State) error {
	for _, obj := range s.Objects {
		if in := obj.GetNamespace(); in != "" && s.Find("Namespace", "", in) == nil {
			return fmt.Errorf("%s %s/%s exists, and its namespace does not", obj.GetKind(), in, obj.GetName())
		}
	}
	return nil
}

func TestNamespacesAreDeletedDespiteFaults(t *testing.T) {
	t.Parallel()
	program := trial.Of(namespace.Add)
	for _, processes := range [][]bowlinetest.Process{program.Once(), program.Twice()} {
		s := bowlinetest.Scenario{
			Options: []bowlinetest.Option{trial.Alone()}, Processes: processes,
			Act:        doomed,
			Invariants: []func(bowlinetest.State) error{noObjectsWithoutNamespace, recreatedContentExists}, Budget: 30,
		}
		r := bowlinetest.Explore(t, s)
		t.Logf("%d fault points with %d controllers", r.Tried(), len(processes))
	}
}
