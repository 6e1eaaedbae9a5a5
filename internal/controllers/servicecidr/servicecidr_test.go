package servicecidr_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/servicecidr"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		servicecidr.Add(m)
		return nil
	}))
}

func TestFaultsRemoveNoRangeInUse(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  trial.Of(servicecidr.Add).Twice(),
		Act:        deleteRangesInUse,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{rangesCoverAddresses},
		Budget:     30,
	})
}

// deleteRangesInUse deletes two equal ranges while a service has an address of them, and a minute later the service.
func deleteRangesInUse(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	ranges := client.For[*networkingv1.ServiceCIDR](c)
	for _, name := range []string{"a", "b"} {
		r := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}}
		r.Spec.CIDRs = []string{"10.1.0.0/28"}
		if _, err := ranges.Create(ctx, r, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	services := client.For[*corev1.Service](c)
	if _, err := services.Create(ctx, trial.Service("web", "10.1.0.5"), metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		if err := ranges.Delete(ctx, "", name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(time.Minute)
	return services.Delete(ctx, "default", "web", metav1.DeleteOptions{})
}

// rangesCoverAddresses fails if a service has an address of the ranges, and both are gone.
func rangesCoverAddresses(s bowlinetest.State) error {
	if s.Find("Service", "default", "web") != nil && s.Find("ServiceCIDR", "", "a") == nil &&
		s.Find("ServiceCIDR", "", "b") == nil {
		return errors.New("both ranges were removed while a service had an address of them")
	}
	return nil
}
