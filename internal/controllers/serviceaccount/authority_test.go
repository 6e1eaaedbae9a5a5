package serviceaccount_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/serviceaccount"
	"github.com/bowline-dev/bowline/internal/trial"
)

// withAuthority returns the controller as a separate program that is configured with a certificate bundle.
func withAuthority(authority string) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		m, err := controller.NewManager(config, controller.ManagerOptions{
			Authority: []byte(authority), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		serviceaccount.Add(m)
		return m.Run(ctx)
	}
}

// corrections runs two controllers with different certificates for an hour, and returns how often the bundle
// in the namespace default was overwritten and its final content.
func corrections(t *testing.T, one, other string) (count int, content string) {
	t.Helper()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		maps := bowlinetest.Client[*corev1.ConfigMap](t, p)
		w, err := maps.Watch(t.Context(), "default",
			metav1.ListOptions{FieldSelector: "metadata.name=" + serviceaccount.Bundle})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				what, _, err := w.Next()
				if err != nil {
					return
				}
				if what == watch.Modified {
					count++
				}
			}
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		w.Stop()
		<-ended
		bundle, err := maps.Get(t.Context(), "default", serviceaccount.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		content = bundle.Data["ca.crt"]
	}, trial.Alone(), bowlinetest.Controllers(withAuthority(one), withAuthority(other)))
	return count, content
}

// Two controllers with different certificates cannot agree, but back off.
func TestConflictingCertificatesBackOff(t *testing.T) {
	t.Parallel()
	if count, _ := corrections(t, "one", "other"); count < 2 || count > 600 {
		t.Errorf("in an hour: got %d updates of the bundle, want 2 to 600", count)
	}
}

// A controller without certificates does not overwrite those of another one, such as Kubernetes' own.
func TestUnknownCertificatesOverwriteNothing(t *testing.T) {
	t.Parallel()
	if count, content := corrections(t, "", "other"); count > 1 || content != "other" {
		t.Errorf("got %d updates of the bundle, content %q; want at most 1, %q", count, content, "other")
	}
}
