package clientgo

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestReleasedLeadershipIsAcquired runs two candidates with one Lease.
func TestReleasedLeadershipIsAcquired(t *testing.T) {
	t.Parallel()
	clients := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t)
	leads, ended := make(chan string), make(chan string, 2)
	run := func(id string) context.CancelFunc {
		ctx, resign := context.WithCancel(t.Context())
		lock := plane.Must(resourcelock.New(resourcelock.LeasesResourceLock, ns, "leader", clients.CoreV1(),
			clients.CoordinationV1(),
			resourcelock.ResourceLockConfig{Identity: id}))(t)
		elector := plane.Must(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second,
			RetryPeriod: 100 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leads <- id },
				OnStoppedLeading: func() {},
			},
		}))(t)
		go func() { elector.Run(ctx); ended <- id }()
		return resign
	}
	resign := map[string]context.CancelFunc{"a": run("a"), "b": run("b")}
	first := <-leads
	if holder := leaseHolder(t, clients); holder != first {
		t.Errorf("got lease holder %q, want the leader %s", holder, first)
	}
	resign[first]()
	<-ended
	second := <-leads
	if second == first || leaseHolder(t, clients) != second {
		t.Errorf("got leader %s after %s, want the other candidate and its name in the lease", second, first)
	}
	resign[second]()
	<-ended
	lease := plane.Must(clients.CoordinationV1().Leases(ns).Get(t.Context(), "leader", metav1.GetOptions{}))(t)
	if *lease.Spec.HolderIdentity != "" || *lease.Spec.LeaseTransitions != 1 {
		t.Errorf("after both candidates stopped: got lease %v, want no holder and one transition", lease.Spec)
	}
}

func leaseHolder(t *testing.T, clients kubernetes.Interface) string {
	t.Helper()
	return *plane.Must(clients.CoordinationV1().Leases(ns).Get(t.Context(), "leader",
		metav1.GetOptions{}))(t).Spec.HolderIdentity
}
