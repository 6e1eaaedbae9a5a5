package resourcequota_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
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

// While clients create and delete objects as fast as they can, there are never more than the quota permits, and the
// usage is right in the end.
func TestQuotaHoldsWhileObjectsComeAndGo(t *testing.T) {
	t.Parallel()
	const limit, clients, rounds = 5, 8, 150
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		quotas := bowlinetest.Client[*corev1.ResourceQuota](t, p)
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}}
		quota.Spec.Hard = corev1.ResourceList{"secrets": resource.MustParse(strconv.Itoa(limit))}
		if _, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		secrets := bowlinetest.Client[*corev1.Secret](t, p)
		page, err := secrets.List(t.Context(), "default", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		events, err := secrets.Watch(t.Context(), "default", metav1.ListOptions{ResourceVersion: page.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		defer events.Stop()
		var created, rejected atomic.Int64
		var group sync.WaitGroup
		for n := range clients {
			group.Go(func() {
				for i := range rounds {
					secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
						Name: fmt.Sprintf("s-%d-%d", n, i)}}
					_, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{})
					switch {
					case apierrors.IsForbidden(err):
						rejected.Add(1)
						time.Sleep(20 * time.Millisecond)
					case err != nil:
						t.Error(err)
					default:
						created.Add(1)
						time.Sleep(time.Duration(n) * time.Millisecond)
						if err := secrets.Delete(t.Context(), "default", secret.Name, metav1.DeleteOptions{}); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Wait()
		alive, most := 0, 0
		for range 2 * created.Load() {
			kind, _, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			if kind == watch.Added {
				alive++
			} else {
				alive--
			}
			most = max(most, alive)
		}
		t.Logf("%d created, %d rejected, at most %d at once", created.Load(), rejected.Load(), most)
		if most > limit || created.Load() < limit || rejected.Load() == 0 {
			t.Errorf("%d created, %d rejected, at most %d at once", created.Load(), rejected.Load(), most)
		}
		time.Sleep(time.Minute)
		got, err := quotas.Get(t.Context(), "default", "q")
		if err != nil {
			t.Fatal(err)
		}
		if used := got.Status.Used["secrets"]; used.Value() != 0 {
			t.Errorf("the usage is %s after all secrets were deleted, want 0", used.String())
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		resourcequota.Add(m)
		return nil
	}))
}
