package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/election"
)

// leases sends an elector's requests with client-go.
type leases struct{ clients kubernetes.Interface }

func (l leases) Get(ctx context.Context, namespace, name string) (*coordinationv1.Lease, error) {
	return l.clients.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return l.clients.CoordinationV1().Leases(lease.Namespace).Create(ctx, lease, metav1.CreateOptions{})
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return l.clients.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
}

func ours(t *testing.T, clients kubernetes.Interface, identity string) *election.Elector {
	t.Helper()
	e, err := election.New(election.Config{
		Leases: leases{clients}, Namespace: "default", Name: "loop", Identity: identity,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func theirs(t *testing.T, clients kubernetes.Interface, identity string, elected func()) *leaderelection.LeaderElector {
	t.Helper()
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "loop"},
			Client:     clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { elected() },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestElectorSharesLeaseWithClientGo has candidates of both kinds compete: there is one leader at a time, and each
// kind takes over after the other has released the lease, or has let it expire.
func TestElectorSharesLeaseWithClientGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		clients := kubernetes.NewForConfigOrDie(plane.RESTConfig())
		var leader string
		run := func(identity string, f func(ctx context.Context, elected func())) (stop func()) {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				f(ctx, func() { leader = identity })
			}()
			synctest.Wait()
			return func() { cancel(); <-done }
		}
		expect := func(after time.Duration, identity string, transitions int32) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			lease, err := clients.CoordinationV1().Leases("default").Get(t.Context(), "loop", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if leader != identity || *lease.Spec.HolderIdentity != identity ||
				*lease.Spec.LeaseTransitions != transitions {
				t.Errorf("elected %q, the lease names %q after %d transitions; want %q after %d",
					leader, *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions, identity, transitions)
			}
		}

		first := ours(t, clients, "first")
		stopFirst := run("first", first.Run)
		stopSecond := run("second", func(ctx context.Context, elected func()) {
			theirs(t, clients, "second", elected).Run(ctx)
		})
		expect(time.Hour, "first", 0)

		stopFirst()
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if first.Leading() {
			t.Error("the first candidate leads after it has released the lease")
		}
		expect(5*time.Second, "second", 1) // at its next attempt

		third := ours(t, clients, "third")
		stopThird := run("third", third.Run)
		expect(time.Hour, "second", 1)
		if third.Leading() || third.Holder() != "second" {
			t.Errorf("the third candidate sees the holder %q, want second", third.Holder())
		}
		stopSecond() // client-go releases the lease
		expect(5*time.Second, "third", 2)

		stopFourth := run("fourth", func(ctx context.Context, elected func()) {
			theirs(t, clients, "fourth", elected).Run(ctx)
		})
		stopThird() // without Release: the lease expires
		expect(10*time.Second, "third", 2)
		expect(10*time.Second, "fourth", 3)
		stopFourth()
	})
}

func TestNewRefusesDurationsThatLoseTheLease(t *testing.T) {
	t.Parallel()
	for name, durations := range map[string][3]time.Duration{
		"no retry period":                   {15 * time.Second, 10 * time.Second, 0},
		"deadline below the retry period":   {15 * time.Second, 2 * time.Second, 2 * time.Second},
		"lease shorter than the deadline":   {10 * time.Second, 10 * time.Second, 2 * time.Second},
		"lease shorter than a whole second": {900 * time.Millisecond, 500 * time.Millisecond, 100 * time.Millisecond},
	} {
		_, err := election.New(election.Config{
			Leases: leases{}, Namespace: "default", Name: "loop", Identity: "a",
			LeaseDuration: durations[0], RenewDeadline: durations[1], RetryPeriod: durations[2],
		})
		if err == nil {
			t.Errorf("%s: accepted %v", name, durations)
		}
	}
}
