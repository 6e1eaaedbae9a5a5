package namespace_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controllers/namespace"
)

// doomed is what a user does: a namespace is filled and deleted, and what holds it is let go later.
func doomed(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	spaces, configs, running := client.For[*corev1.Namespace](c), client.For[*corev1.ConfigMap](c), client.For[*corev1.Pod](c)
	if _, err := spaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, cm := range []*corev1.ConfigMap{{ObjectMeta: meta("plain")}, {ObjectMeta: meta("held", "example.com/hold")}} {
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
	_, err = configs.Patch(ctx, "doomed", "held", "", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	return err
}

// nothingOutlivesItsNamespace is broken by an object in a namespace that is not there.
func nothingOutlivesItsNamespace(s bowlinetest.State) error {
	for _, obj := range s.Objects {
		if in := obj.GetNamespace(); in != "" && s.Find("Namespace", "", in) == nil {
			return fmt.Errorf("%s %s/%s has outlived its namespace", obj.GetKind(), in, obj.GetName())
		}
	}
	return nil
}

func TestNamespacesEndWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	program := trial.Of(namespace.Add)
	for _, processes := range [][]bowlinetest.Process{program.Once(), program.Twice()} {
		s := bowlinetest.Scenario{
			Options: []bowlinetest.Option{trial.Alone()}, Processes: processes,
			Act: doomed, Invariants: []func(bowlinetest.State) error{nothingOutlivesItsNamespace}, Budget: 30,
		}
		r := bowlinetest.Explore(t, s)
		t.Logf("%d fault points with %d controllers", r.Tried(), len(processes))
	}
}
