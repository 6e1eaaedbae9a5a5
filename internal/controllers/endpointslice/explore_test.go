package endpointslice_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/endpointslice"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsHideNoPod(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, serving(trial.Of(endpointslice.Add).Once()))
}

func TestTwoControllersConverge(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, serving(trial.Of(endpointslice.Add).Twice()))
}

// A service is recreated under its name, and one of two controllers observes that half a minute late. It must
// not delete the new service's slices, which the other controller has created.
func TestStaleServiceCacheDeletesNoSlices(t *testing.T) {
	t.Parallel()
	s := serving(trial.Of(endpointslice.Add).Twice())
	s.Act = func(ctx context.Context, config *rest.Config) error {
		if err := trial.Serve(ctx, config); err != nil {
			return err
		}
		c, err := client.New(config)
		if err != nil {
			return err
		}
		services := client.For[*corev1.Service](c)
		time.Sleep(10 * time.Second)
		if err := services.Delete(ctx, "default", "web", metav1.DeleteOptions{}); err != nil {
			return err
		}
		_, err = services.Create(ctx, trial.Service("web", "10.0.0.10"), metav1.CreateOptions{})
		return err
	}
	s.Invariants = []func(bowlinetest.State) error{lasting()}
	s.Replay = "delayed: DELETED services default/web #1 of two"
	bowlinetest.Explore(t, s)
}

// serving is the scenario of a service whose pods are created, become ready, and are deleted.
func serving(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        trial.Serve,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{once},
		Compare:    trial.Untimed,
		Skip:       trial.Events,
		Budget:     30,
	}
}

// once fails if a pod is in two slices.
func once(s bowlinetest.State) error {
	in := map[string]string{}
	for _, obj := range s.Kind("EndpointSlice") {
		slice := &discoveryv1.EndpointSlice{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, slice); err != nil {
			return err
		}
		for _, e := range slice.Endpoints {
			if other, twice := in[e.TargetRef.Name]; twice {
				return fmt.Errorf("pod %s is in the slices %s and %s", e.TargetRef.Name, other, slice.Name)
			}
			in[e.TargetRef.Name] = slice.Name
		}
	}
	return nil
}

// lasting fails if an existing service loses its slices. It identifies services by uid, which is unique
// across runs.
func lasting() func(bowlinetest.State) error {
	var had sync.Map
	return func(s bowlinetest.State) error {
		slices := map[types.UID]bool{}
		for _, slice := range s.Kind("EndpointSlice") {
			if owner := metav1.GetControllerOfNoCopy(slice); owner != nil {
				slices[owner.UID] = true
			}
		}
		for _, service := range s.Kind("Service") {
			if slices[service.GetUID()] {
				had.Store(service.GetUID(), true)
			} else if _, were := had.Load(service.GetUID()); were {
				return fmt.Errorf("service %s has lost its slices", service.GetName())
			}
		}
		return nil
	}
}
