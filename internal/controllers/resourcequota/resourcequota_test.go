package resourcequota_test

import (
	"context"
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
	"github.com/bowline-dev/bowline/internal/controllers/resourcequota"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		resourcequota.Add(m)
		return nil
	}))
}

// user creates and deletes objects that a quota counts.
func user(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}}
	quota.Spec.Hard = corev1.ResourceList{"secrets": resource.MustParse("10"),
		"count/configmaps": resource.MustParse("10")}
	if _, err := client.For[*corev1.ResourceQuota](c).Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		return err
	}
	secrets := client.For[*corev1.Secret](c)
	for _, name := range []string{"a", "b", "c"} {
		time.Sleep(10 * time.Second)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(time.Minute)
	return secrets.Delete(ctx, "default", "b", metav1.DeleteOptions{})
}

func TestUsageIsCountedDespiteFaults(t *testing.T) {
	t.Parallel()
	program := trial.Of(resourcequota.Add)
	for _, processes := range [][]bowlinetest.Process{program.Once(), program.Twice()} {
		s := bowlinetest.Scenario{Options: []bowlinetest.Option{trial.Alone()}, Processes: processes, Act: user,
			Budget: 30}
		r := bowlinetest.Explore(t, s)
		t.Logf("%d fault points with %d instances", r.Tried(), len(processes))
	}
}
