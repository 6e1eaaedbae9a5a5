package controllerruntime

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

const finalizer = "example.com/unload"

// harbour creates a ConfigMap, the cargo, for each ship, and deletes it before the ship is removed.
type harbour struct{ client.Client }

func (h harbour) Reconcile(ctx context.Context, ship *Ship) (reconcile.Result, error) {
	cargo := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ship.Namespace, Name: ship.Name + "-cargo"}}
	if !ship.DeletionTimestamp.IsZero() {
		if err := h.Delete(ctx, cargo); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
		if controllerutil.RemoveFinalizer(ship, finalizer) {
			return reconcile.Result{}, h.Update(ctx, ship)
		}
		return reconcile.Result{}, nil
	}
	if controllerutil.AddFinalizer(ship, finalizer) {
		return reconcile.Result{}, h.Update(ctx, ship)
	}
	_, err := controllerutil.CreateOrUpdate(ctx, h, cargo, func() error {
		cargo.Data = map[string]string{"crew": ship.Spec.Crew}
		return controllerutil.SetControllerReference(ship, cargo, h.Scheme())
	})
	if err != nil || ship.Status.Cargo == cargo.Name {
		return reconcile.Result{}, err
	}
	ship.Status.Cargo = cargo.Name
	return reconcile.Result{}, h.Status().Update(ctx, ship)
}

// newManager returns a manager with leader election that runs a harbour.
func newManager(t *testing.T, c *rest.Config) manager.Manager {
	t.Helper()
	retry, skip := 100*time.Millisecond, true // both managers in this process use the same controller name
	m := plane.Must(manager.New(c, manager.Options{
		Scheme: newScheme(), Logger: quiet, Metrics: metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		LeaderElection:         true, LeaderElectionID: "harbour", LeaderElectionNamespace: ns,
		LeaderElectionReleaseOnCancel: true, RetryPeriod: &retry,
		Controller: config.Controller{SkipNameValidation: &skip},
	}))(t)
	ok(t, builder.ControllerManagedBy(m).For(&Ship{}).Owns(&corev1.ConfigMap{}).
		Complete(reconcile.AsReconciler(m.GetClient(), harbour{m.GetClient()})))
	return m
}

// run runs a manager, and returns a function that stops it.
func run(t *testing.T, m manager.Manager) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.Start(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("running the manager: %v", err)
		}
	}
}

// await returns the first object of a watch that meets a condition.
func await[T client.Object](t *testing.T, w watch.Interface, met func(watch.EventType, T) bool) T {
	t.Helper()
	for e := range w.ResultChan() {
		if o, ok := e.Object.(T); ok && met(e.Type, o) {
			return o
		}
	}
	t.Fatal("the watch ended before an object met the condition")
	panic("unreachable")
}

// TestManagerReconcilesOwnedObjects checks that the manager creates and restores the cargo, and
// removes it by a finalizer, and that a second manager takes over when the first one stops.
func TestManagerReconcilesOwnedObjects(t *testing.T) {
	t.Parallel()
	config, c := startWithShips(t)
	ctx := t.Context()
	ships := plane.Must(c.Watch(ctx, &ShipList{}))(t)
	defer ships.Stop()
	cargoes := plane.Must(c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(ns)))(t)
	defer cargoes.Stop()
	first := newManager(t, config)
	stopFirst := run(t, first)
	<-first.Elected()

	ok(t, c.Create(ctx, &Ship{ObjectMeta: named("a"), Spec: ShipSpec{Crew: "six"}}))
	await(t, ships, func(_ watch.EventType, s *Ship) bool { return s.Status.Cargo == "a-cargo" })
	cargo := await(t, cargoes, func(e watch.EventType, o *corev1.ConfigMap) bool {
		return e == watch.Added && o.Name == "a-cargo"
	})
	ok(t, c.Delete(ctx, cargo))
	await(t, cargoes, func(e watch.EventType, o *corev1.ConfigMap) bool {
		return e == watch.Added && o.UID != cargo.UID
	})

	second := newManager(t, config)
	stopSecond := run(t, second)
	stopFirst()
	<-second.Elected()
	ship := &Ship{}
	ok(t, c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "a"}, ship))
	ship.Spec.Crew = "seven"
	ok(t, c.Update(ctx, ship))
	await(t, cargoes, func(_ watch.EventType, o *corev1.ConfigMap) bool { return o.Data["crew"] == "seven" })
	ok(t, c.Delete(ctx, ship))
	await(t, cargoes, func(e watch.EventType, o *corev1.ConfigMap) bool { return e == watch.Deleted })
	await(t, ships, func(e watch.EventType, s *Ship) bool { return e == watch.Deleted })
	if err := c.Get(ctx, client.ObjectKeyFromObject(ship), ship); !apierrors.IsNotFound(err) {
		t.Errorf("get after the deletion: got error %v, want NotFound", err)
	}
	stopSecond()
}
