package resourcequota_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/resourcequota"
)

// alone has a plane run no controllers but those of the test.
func alone() bowlinetest.Option {
	return bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{} })
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		resourcequota.Add(m)
		return nil
	}))
}

// process is the controller as a program of its own.
func process(ctx context.Context, config *rest.Config) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	resourcequota.Add(m)
	return m.Run(ctx)
}

// user makes and deletes what a quota counts.
func user(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}}
	quota.Spec.Hard = corev1.ResourceList{"secrets": resource.MustParse("10"), "count/configmaps": resource.MustParse("10")}
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

func TestWhatIsUsedIsCountedWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	for _, processes := range [][]string{{"one"}, {"one", "two"}} {
		s := bowlinetest.Scenario{Options: []bowlinetest.Option{alone()}, Act: user, Budget: 30}
		for _, name := range processes {
			s.Processes = append(s.Processes, bowlinetest.Process{Name: name, Run: process})
		}
		r := bowlinetest.Explore(t, s)
		t.Logf("%d fault points with %d instances", r.Tried(), len(processes))
	}
}
