package server_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// With client-go's leader election, one of three candidates leads, and another one takes over when it stops.
func TestLeaderElection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		var leading atomic.Int32
		led := make(chan string, 3)
		stop := map[string]context.CancelFunc{}
		ended := make(chan struct{}, 3)
		for _, name := range []string{"a", "b", "c"} {
			ctx, cancel := context.WithCancel(t.Context())
			stop[name] = cancel
			election := must(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{
					LeaseMeta: metav1.ObjectMeta{Name: "l", Namespace: "default"}, Client: w.clients.CoordinationV1(),
					LockConfig: resourcelock.ResourceLockConfig{Identity: name},
				},
				LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
				ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) {
						if leading.Add(1) > 1 {
							t.Error("two candidates lead")
						}
						led <- name
					},
					OnStoppedLeading: func() {},
				},
			}))(t)
			go func() {
				election.Run(ctx)
				ended <- struct{}{}
			}()
		}
		for range 3 {
			leader := <-led
			time.Sleep(time.Minute)
			lease := must(w.clients.CoordinationV1().Leases("default").Get(t.Context(), "l", metav1.GetOptions{}))(t)
			if *lease.Spec.HolderIdentity != leader {
				t.Errorf("%s leads, but %s holds the lease", leader, *lease.Spec.HolderIdentity)
			}
			leading.Add(-1)
			stop[leader]()
			<-ended
		}
	})
}
