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

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/election"
)

// LeaderElection configures the election of one manager among those that name the same Lease (coordination.k8s.io/v1).
// Only the leader runs its controllers. The protocol is that of client-go's leader election, so programs that use it
// can take part. Zero durations mean Kubernetes' defaults.
//
// The leader renews the lease every RetryPeriod. If it cannot for RenewDeadline, its manager stops with an
// error. Another manager takes over when the lease has not been renewed for LeaseDuration. A manager that
// stops normally releases the lease after its last worker has ended, and another acquires it at its next
// attempt, after RetryPeriod to somewhat more than twice that. A manager that lost the lease, or has a stuck
// reconciliation, does not release it: the lease expires.
type LeaderElection struct {
	// Name and Namespace identify the Lease. The default namespace is "default".
	Name, Namespace string
	// Identity identifies this process; the default is the host name and a random number.
	Identity string
	// LeaseDuration, RenewDeadline and RetryPeriod default to 15 s, 10 s and 2 s. Each must be longer than the next.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// lease is a manager's participation in an election. A nil lease always leads.
type lease struct {
	options LeaderElection
	elector *election.Elector
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
			return nil,
				fmt.Errorf("leader election: no identity for this process, set LeaderElection.Identity: %w", err)
		}
		o.Identity = fmt.Sprintf("%s_%016x", host, rand.Uint64())
	}
	copied := rest.CopyConfig(config)
	copied.Timeout = max(o.RenewDeadline/2, time.Second) // after a hanging request, another attempt can renew the lease
	c, err := client.New(copied)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	l.elector, err = election.New(election.Config{
		Leases: leases{client.Of[*coordinationv1.Lease](c,
			coordinationv1.SchemeGroupVersion.WithResource("leases"))},
		Namespace: o.Namespace, Name: o.Name, Identity: o.Identity,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("leader election on the lease %s: %w", l.name(), err)
	}
	return l, nil
}

// acquire waits until this manager leads or ctx ends. After that, losing the lease calls stop.
func (l *lease) acquire(ctx, background context.Context, stop context.CancelCauseFunc) {
	if l == nil {
		return
	}
	l.holder = start(background, func(held context.Context) {
		l.elector.Run(held, func() { close(l.started) })
		if held.Err() == nil {
			l.lost.Store(true)
			stop(fmt.Errorf("leader election: %s lost the lease %s, which is now %s: another process may be "+
				"leading, so this manager has stopped; restart the process to become a candidate again",
				l.options.Identity, l.name(), l.state()))
		}
	})
	select {
	case <-l.started:
	case <-ctx.Done():
	}
}

// release stops renewing and, if the manager is idle, releases the lease so that another manager need not wait until
// it expires.
func (l *lease) release(idle bool) {
	if l == nil {
		return
	}
	l.holder.stop()
	if !idle || l.lost.Load() || !l.elector.Leading() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.options.RenewDeadline)
	defer cancel()
	// A renewal that was in progress may have reached the server or may still reach it.
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return l.elector.Release(ctx) }); err != nil {
		l.log.Warn("releasing the lease failed: it will expire", "lease", l.name(), "error", err)
	}
}

func (l *lease) name() string { return l.options.Namespace + "/" + l.options.Name }

// state describes the holder of the lease.
func (l *lease) state() string {
	switch holder := l.elector.Holder(); {
	case holder == l.options.Identity:
		return "still assigned to this manager, which could not renew it within " + l.options.RenewDeadline.String()
	case holder == "":
		return "held by nobody"
	default:
		return "held by " + holder
	}
}

// leases sends an elector's requests.
type leases struct {
	client.Resource[*coordinationv1.Lease]
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return l.Resource.Create(ctx, lease, metav1.CreateOptions{})
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return l.Resource.Update(ctx, lease, metav1.UpdateOptions{})
}
