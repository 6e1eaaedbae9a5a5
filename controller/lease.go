package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// LeaderElection has the managers that name the same Lease (coordination.k8s.io/v1) work one at a time. It is client-go's: any
// program that elects so can take part. The zero values of the times are Kubernetes' own.
//
// Whoever leads renews the lease every RetryPeriod. When that fails for RenewDeadline, its manager stops, with an error; another
// takes over when it has not seen the lease renewed for LeaseDuration. A manager that stops in order releases the lease when its
// last worker has ended, and another begins when it looks again: after RetryPeriod, or somewhat more than twice that. One that
// lost the lease, or has a reconcile that does not return, releases nothing: the lease expires.
type LeaderElection struct {
	// Name and Namespace are the lease's. The namespace is "default" when it is empty.
	Name, Namespace string
	// Identity is who this process is; empty means the host's name and something random.
	Identity string
	// LeaseDuration is 15 s, RenewDeadline 10 s and RetryPeriod 2 s where they are 0. Each must be longer than the next.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// lease is a manager's part in an election. Nil is a manager that leads without one.
type lease struct {
	options LeaderElection
	elector *leaderelection.LeaderElector
	lock    *resourcelock.LeaseLock
	log     *slog.Logger
	holder  *part
	started chan struct{} // closed when the lease is acquired
	lost    atomic.Bool
}

func newLease(config *rest.Config, options *LeaderElection, log *slog.Logger) (*lease, error) {
	if options == nil {
		return nil, nil
	}
	if options.Name == "" {
		return nil, errors.New("leader election: the lease has no name, set LeaderElection.Name")
	}
	l := &lease{options: *options, log: log, started: make(chan struct{})}
	o := &l.options
	o.Namespace = cmp.Or(o.Namespace, metav1.NamespaceDefault)
	o.LeaseDuration = cmp.Or(o.LeaseDuration, 15*time.Second)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, 10*time.Second)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, 2*time.Second)
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("leader election: who this process is cannot be told, set LeaderElection.Identity: %w", err)
		}
		o.Identity = fmt.Sprintf("%s_%016x", host, rand.Uint64())
	}
	own := rest.CopyConfig(config)
	own.Timeout = max(o.RenewDeadline/2, time.Second) // one request that hangs must not cost the lease
	leases, err := coordinationv1.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	l.lock = &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
	}
	l.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          l.lock,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		Name: o.Name, // no ReleaseOnCancel: it would release before the workers have ended, also when renewing has failed
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(l.started) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("leader election on the lease %s: %w", l.name(), err)
	}
	return l, nil
}

// acquire waits until this manager leads, or ctx ends. From then on, losing the lease calls stop.
func (l *lease) acquire(ctx, background context.Context, stop context.CancelCauseFunc) {
	if l == nil {
		return
	}
	l.holder = start(klog.NewContext(background, logr.FromSlogHandler(l.log.Handler())), func(held context.Context) {
		l.elector.Run(held)
		if held.Err() == nil {
			l.lost.Store(true)
			stop(fmt.Errorf("leader election: %s lost the lease %s, which is now %s: another may be at work, so this manager has "+
				"stopped; start the process again to stand for election", l.options.Identity, l.name(), l.state()))
		}
	})
	select {
	case <-l.started:
	case <-ctx.Done():
	}
}

// release ends the renewal, and gives the lease up if nothing of this manager is at work any more, so that another need not wait
// until it expires.
func (l *lease) release(idle bool) {
	if l == nil {
		return
	}
	l.holder.stop()
	if !idle || l.lost.Load() || !l.elector.IsLeader() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.options.RenewDeadline)
	defer cancel()
	// A renewal that was under way may have got to the server, or still get there.
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return l.giveUp(ctx) }); err != nil {
		l.log.Warn("the lease could not be released: it expires", "lease", l.name(), "error", err)
	}
}

// giveUp takes this manager's name off the lease, if it is there.
func (l *lease) giveUp(ctx context.Context) error {
	held, _, err := l.lock.Get(ctx)
	if err != nil || held.HolderIdentity != l.options.Identity {
		return err
	}
	now := metav1.Now()
	return l.lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: held.LeaderTransitions, LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now,
	})
}

func (l *lease) name() string { return l.options.Namespace + "/" + l.options.Name }

// state says who has the lease.
func (l *lease) state() string {
	switch holder := l.elector.GetLeader(); {
	case holder == l.options.Identity:
		return "still in its name but could not be renewed within " + l.options.RenewDeadline.String()
	case holder == "":
		return "held by nobody"
	default:
		return "held by " + holder
	}
}
