//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

package endpointslicemirroring_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/endpointslicemirroring"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsHideNoAddress(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, mirroring(trial.Of(endpointslicemirroring.Add).Once()))
}

func TestTwoControllersConverge(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, mirroring(trial.Of(endpointslicemirroring.Add).Twice()))
}

// Endpoints are recreated under their name, and one of two controllers observes that half a minute late. It must not
// delete the new slices, which the other controller has created.
func TestStaleEndpointsCacheDeletesNoSlices(t *testing.T) {
	t.Parallel()
	s := mirroring(trial.Of(endpointslicemirroring.Add).Twice())
	s.Replay = "delayed: DELETED endpoints default/web #1 of two"
	bowlinetest.Explore(t, s)
}

// mirroring is the scenario of services without a selector whose Endpoints change.
func mirroring(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        act,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{lasting()},
		Compare:    trial.Untimed,
		Skip:       trial.Events,
		Budget:     30,
	}
}

// act creates Endpoints, changes their addresses and their ports, and deletes and recreates them. Another service is
// deleted without its Endpoints.
func act(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	services, endpoints := client.For[*corev1.Service](c), client.For[*corev1.Endpoints](c)
	for i, name := range []string{"web", "gone"} {
		service := trial.Service(name, fmt.Sprintf("10.0.0.1%d", i))
		service.Spec.Selector = nil
		if _, err := services.Create(ctx, service, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := endpoints.Create(ctx, listing(name, 80, "10.1.0.1"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, change := range []func() error{
		func() error {
			return replace(ctx, endpoints, listing("web", 80, "10.1.0.1", "10.1.0.2", "2001:db8::1"))
		},
		func() error { return replace(ctx, endpoints, listing("web", 81, "10.1.0.1", "10.1.0.3")) },
		func() error { return services.Delete(ctx, "default", "gone", metav1.DeleteOptions{}) },
		func() error { return endpoints.Delete(ctx, "default", "web", metav1.DeleteOptions{}) },
		func() error {
			_, err := endpoints.Create(ctx, listing("web", 81, "10.1.0.4"), metav1.CreateOptions{})
			return err
		},
	} {
		time.Sleep(5 * time.Second)
		if err := change(); err != nil {
			return err
		}
	}
	return nil
}

// listing returns Endpoints with the addresses and a port.
func listing(name string, port int32, ips ...string) *corev1.Endpoints {
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Port: port}}}
	for _, ip := range ips {
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: ip})
	}
	e.Subsets = []corev1.EndpointSubset{subset}
	return e
}

// replace updates Endpoints, whatever their version.
func replace(ctx context.Context, endpoints client.Resource[*corev1.Endpoints], e *corev1.Endpoints) error {
	_, err := endpoints.Update(ctx, e, metav1.UpdateOptions{})
	return err
}

// lasting fails if Endpoints with a service have no slices after they had some. It identifies Endpoints by uid, which
// is unique across runs.
func lasting() func(bowlinetest.State) error {
	var had sync.Map
	return func(s bowlinetest.State) error {
		slices := map[types.UID]bool{}
		for _, slice := range s.Kind("EndpointSlice") {
			if owner := metav1.GetControllerOfNoCopy(slice); owner != nil {
				slices[owner.UID] = true
			}
		}
		for _, e := range s.Kind("Endpoints") {
			if slices[e.GetUID()] {
				had.Store(e.GetUID(), true)
			} else if _, were := had.Load(e.GetUID()); were && s.Find("Service", e.GetNamespace(), e.GetName()) != nil {
				return fmt.Errorf("the Endpoints %s have lost their slices", e.GetName())
			}
		}
		return nil
	}
}
