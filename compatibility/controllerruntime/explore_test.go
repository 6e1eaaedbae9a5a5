package controllerruntime

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// The logs of client-go during faults are not relevant to the tests.
func init() { klog.SetLogger(quiet) }

// runHarbour is the main function of a program with a harbour and leader election.
func runHarbour(ctx context.Context, c *rest.Config) error {
	skip := true // the runs in this process use the same controller name
	lease, renew, retry := 40*time.Second, 30*time.Second, 10*time.Second
	m, err := manager.New(c, manager.Options{
		Scheme: newScheme(), Logger: quiet, Metrics: metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		LeaderElection:         true, LeaderElectionID: "harbour", LeaderElectionNamespace: ns,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease, RenewDeadline: &renew, RetryPeriod: &retry,
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		return err
	}
	err = builder.ControllerManagedBy(m).For(&Ship{}).Owns(&corev1.ConfigMap{}).
		Complete(reconcile.AsReconciler(m.GetClient(), harbour{m.GetClient()}))
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

// sail creates a ship and changes its crew, and creates and deletes another one.
func sail(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		if err := c.Create(ctx, &Ship{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec: ShipSpec{Crew: "six"}}); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	a := &Ship{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}}
	if err := c.Patch(ctx, a, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"crew":"seven"}}`))); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	return c.Delete(ctx, &Ship{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b"}})
}

// TestReconcilerWithFaults checks that a manager's controller reaches the same final state after any
// single fault, and that no ship is removed before its cargo.
func TestReconcilerWithFaults(t *testing.T) {
	t.Parallel()
	r := bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:   []bowlinetest.Option{bowlinetest.CRDs("testdata/ships.yaml")},
		Processes: []bowlinetest.Process{{Name: "harbour", Run: runHarbour}},
		Act:       sail,
		Invariants: []func(bowlinetest.State) error{func(s bowlinetest.State) error {
			for _, cargo := range s.Kind("ConfigMap") {
				if owner := metav1.GetControllerOf(cargo); owner != nil && s.Find("Ship", ns, owner.Name) == nil {
					return fmt.Errorf("cargo %s exists, and its ship does not", cargo.GetName())
				}
			}
			return nil
		}},
	})
	if r.Tried() < 80 {
		t.Errorf("got %d fault points, want at least 80", r.Tried())
	}
	if len(r.Unreached) > r.Tried()/4 {
		t.Errorf("got %d runs that did not reach their fault point, want at most a quarter: %q", len(r.Unreached),
			r.Unreached)
	}
}
