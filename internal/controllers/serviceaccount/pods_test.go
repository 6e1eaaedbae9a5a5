package serviceaccount_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
)

// TestPodsOfNewNamespacesWaitForTheirAccount creates a namespace and at once a pod, while the plugin ServiceAccount
// runs. The account appears at once, late or too late.
func TestPodsOfNewNamespacesWaitForTheirAccount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		controllers []string      // of the plane
		delay       time.Duration // until the test creates the account, if the plane does not
		wait        time.Duration
		rejected    bool
	}{
		{"the controller creates it", nil, 0, 0, false},
		{"it is late", []string{bowline.NoControllers}, time.Second, time.Second, false},
		{"it is too late", []string{bowline.NoControllers}, time.Minute, 1800 * time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				ctx := t.Context()
				shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
				namespaces := bowlinetest.Client[*corev1.Namespace](t, p)
				if _, err := namespaces.Create(ctx, shop, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				created := make(chan error, 1)
				accounts := bowlinetest.Client[*corev1.ServiceAccount](t, p)
				go func() {
					time.Sleep(c.delay)
					if c.delay == 0 {
						created <- nil
						return
					}
					account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "default"}}
					_, err := accounts.Create(ctx, account, metav1.CreateOptions{})
					created <- err
				}()
				start := time.Now()
				pod, err := bowlinetest.Client[*corev1.Pod](t, p).Create(ctx, &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				}, metav1.CreateOptions{})
				waited := time.Since(start)
				if apierrors.IsForbidden(err) != c.rejected || !c.rejected && err != nil {
					t.Errorf("got %v, want the pod rejected: %t", err, c.rejected)
				}
				if err == nil && (pod.Spec.ServiceAccountName != "default" || len(pod.Spec.Volumes) != 1) {
					t.Errorf("the pod has the account %q and %d volumes, want default and 1", pod.Spec.ServiceAccountName,
						len(pod.Spec.Volumes))
				}
				if waited != c.wait {
					t.Errorf("waited %s, want %s", waited, c.wait)
				}
				if err := <-created; err != nil {
					t.Error(err)
				}
			}, bowlinetest.With(func(o *bowline.Options) {
				o.Controllers, o.Admission = c.controllers, []string{"ServiceAccount"}
			}))
		})
	}
}
