package endpoint_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/endpoint"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsHideNoPod(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, serving(trial.Of(endpoint.Add).Once()))
}

func TestTwoControllersConverge(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, serving(trial.Of(endpoint.Add).Twice()))
}

// One of two controllers observes a service half a minute late, but the Endpoints that the other one has
// created at once.
func TestStaleServiceCacheDeletesNoEndpoints(t *testing.T) {
	t.Parallel()
	s := serving(trial.Of(endpoint.Add).Twice())
	s.Replay = "delayed: ADDED services default/web #1 of two"
	bowlinetest.Explore(t, s)
}

// serving is the scenario of a service whose pods are created, become ready, and are deleted.
func serving(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        serve,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{lasting()},
		Compare:    trial.Untimed,
		Skip:       trial.Events,
		Budget:     30,
	}
}

// serve extends trial.Serve by a service that is created and deleted.
func serve(ctx context.Context, config *rest.Config) error {
	if err := trial.Serve(ctx, config); err != nil {
		return err
	}
	c, err := client.New(config)
	if err != nil {
		return err
	}
	services := client.For[*corev1.Service](c)
	time.Sleep(5 * time.Second)
	if _, err := services.Create(ctx, trial.Service("gone", "10.0.0.11"), metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	return services.Delete(ctx, "default", "gone", metav1.DeleteOptions{})
}

// lasting fails if an existing service loses its Endpoints. It identifies services by uid, which is unique
// across runs.
func lasting() func(bowlinetest.State) error {
	var had sync.Map
	return func(s bowlinetest.State) error {
		for _, service := range s.Kind("Service") {
			if s.Find("Endpoints", service.GetNamespace(), service.GetName()) != nil {
				had.Store(service.GetUID(), true)
			} else if _, were := had.Load(service.GetUID()); were {
				return fmt.Errorf("service %s has lost its Endpoints", service.GetName())
			}
		}
		return nil
	}
}
