// Package election elects one leader among processes that share a Lease (coordination.k8s.io/v1). It follows the
// protocol of client-go's tools/leaderelection, so programs that use either take part in the same election. The package
// exists because importing client-go's links its generated clientset, informers and listers: some 230 packages.
//
// Package controller runs an Elector for a manager. The package does not know how requests are sent: its caller
// supplies Leases.
package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jitter stretches the interval between two attempts to acquire the lease by up to this factor, so that candidates that
// started together do not all ask at once.
const jitter = 1.2

// Leases reads and writes Lease objects. Errors are those of the API: IsNotFound and IsConflict of package apierrors
// apply.
type Leases interface {
	Get(ctx context.Context, namespace, name string) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
}

// Config names the lease and the candidate. Every field but Log is required.
type Config struct {
	Leases          Leases
	Namespace, Name string
	// Identity distinguishes this candidate from all others.
	Identity string
	// LeaseDuration is how long other candidates wait after the last renewal that they observed before they take the
	// lease. RenewDeadline is how long the leader tries to renew before it gives up. RetryPeriod is the time between
	// two attempts.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Log receives failed attempts and changes of the leader. Nil discards them.
	Log *slog.Logger
}

// Elector is one candidate. Run may be called once; the other methods are safe for concurrent use.
type Elector struct {
	config Config

	mu       sync.Mutex
	observed *coordinationv1.Lease // as last read or written; nil before the first attempt
	// observedAt is when observed changed, by this process's clock. The times in the lease are other clocks' and are
	// not compared with it.
	observedAt time.Time
}

// New checks the configuration and returns a candidate that does not run yet.
func New(config Config) (*Elector, error) {
	switch {
	case config.Name == "" || config.Namespace == "" || config.Identity == "" || config.Leases == nil:
		return nil, errors.New("the lease's name and namespace, the identity and the client must be set")
	case config.RetryPeriod <= 0:
		return nil, fmt.Errorf("RetryPeriod %v must be greater than zero", config.RetryPeriod)
	case config.RenewDeadline <= time.Duration(jitter*float64(config.RetryPeriod)):
		return nil, fmt.Errorf("RenewDeadline %v must be greater than %v times RetryPeriod %v", config.RenewDeadline,
			jitter, config.RetryPeriod)
	case config.LeaseDuration <= config.RenewDeadline:
		return nil, fmt.Errorf("LeaseDuration %v must be greater than RenewDeadline %v", config.LeaseDuration,
			config.RenewDeadline)
	case config.LeaseDuration < time.Second:
		return nil, fmt.Errorf("LeaseDuration %v must be at least a second, the unit in which a lease states it",
			config.LeaseDuration)
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Elector{config: config}, nil
}

// Run competes for the lease, calls elected once when this candidate acquires it, and then renews it. It returns when
// ctx ends or when the lease could not be renewed for RenewDeadline. It does not release the lease: see Release.
func (e *Elector) Run(ctx context.Context, elected func()) {
	for !e.attempt(ctx) {
		if !sleep(ctx, time.Duration(float64(e.config.RetryPeriod)*(1+jitter*rand.Float64()))) {
			return
		}
	}
	if ctx.Err() != nil {
		return
	}
	e.config.Log.Info("acquired the lease", "lease", e.name(), "identity", e.config.Identity)
	elected()
	for sleep(ctx, e.config.RetryPeriod) && e.renew(ctx) {
	}
}

// renew repeats attempts until one succeeds. It reports false if none did within RenewDeadline or ctx ended.
func (e *Elector) renew(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, e.config.RenewDeadline)
	defer cancel()
	for !e.attempt(ctx) {
		if !sleep(ctx, e.config.RetryPeriod) {
			return false
		}
	}
	return true
}

// attempt tries once to acquire or renew the lease, and reports whether this candidate holds it.
func (e *Elector) attempt(ctx context.Context) bool {
	held, err := e.tryOnce(ctx)
	if err != nil && ctx.Err() == nil {
		e.config.Log.Warn("could not acquire or renew the lease; will try again", "lease", e.name(), "error", err)
	}
	return held
}

func (e *Elector) tryOnce(ctx context.Context) (held bool, err error) {
	now := time.Now()
	if e.valid(now) && e.Leading() {
		// The leader's copy is probably current: renew without reading first. A conflict shows that it is not.
		if err := e.write(ctx, e.current(), now, true); err == nil {
			return true, nil
		}
	}
	lease, err := e.config.Leases.Get(ctx, e.config.Namespace, e.config.Name)
	if apierrors.IsNotFound(err) {
		return e.create(ctx, now)
	}
	if err != nil {
		return false, fmt.Errorf("reading it: %w", err)
	}
	e.observe(lease, now)
	leading := e.Leading()
	if !leading && e.Holder() != "" && e.valid(now) {
		return false, nil // another candidate holds it
	}
	if err := e.write(ctx, lease, now, leading); err != nil {
		return false, fmt.Errorf("writing it: %w", err)
	}
	return true, nil
}

func (e *Elector) create(ctx context.Context, now time.Time) (bool, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.config.Namespace, Name: e.config.Name}}
	e.fill(lease, now, true)
	acquired := metav1.NewMicroTime(now)
	lease.Spec.AcquireTime = &acquired
	lease, err := e.config.Leases.Create(ctx, lease)
	if err != nil {
		return false, fmt.Errorf("creating it: %w", err)
	}
	e.observe(lease, now)
	return true, nil
}

// write updates the lease in this candidate's name. A leader renews; another candidate begins a new term.
func (e *Elector) write(ctx context.Context, lease *coordinationv1.Lease, now time.Time, leading bool) error {
	lease = lease.DeepCopy()
	e.fill(lease, now, leading)
	lease, err := e.config.Leases.Update(ctx, lease)
	if err == nil {
		e.observe(lease, now)
	}
	return err
}

func (e *Elector) fill(lease *coordinationv1.Lease, now time.Time, leading bool) {
	seconds, at, transitions := int32(e.config.LeaseDuration/time.Second), metav1.NewMicroTime(now), int32(0)
	if lease.Spec.LeaseTransitions != nil {
		transitions = *lease.Spec.LeaseTransitions
	}
	if !leading {
		transitions++
		lease.Spec.AcquireTime = &at
	}
	identity := e.config.Identity
	lease.Spec.HolderIdentity = &identity
	lease.Spec.LeaseDurationSeconds = &seconds
	lease.Spec.RenewTime = &at
	lease.Spec.LeaseTransitions = &transitions
}

// Release gives the lease up if this candidate holds it, so that another can acquire it at once. Call it after Run has
// returned and everything that needs the lease has ended. It returns a conflict if the lease was written meanwhile.
func (e *Elector) Release(ctx context.Context) error {
	lease, err := e.config.Leases.Get(ctx, e.config.Namespace, e.config.Name)
	if err != nil || holder(lease) != e.config.Identity {
		return err
	}
	lease = lease.DeepCopy()
	none, second, now := "", int32(1), metav1.NowMicro()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &none, &second
	lease.Spec.AcquireTime, lease.Spec.RenewTime = &now, &now
	lease, err = e.config.Leases.Update(ctx, lease)
	if err == nil {
		e.observe(lease, now.Time)
	}
	return err
}

// Leading reports whether the lease named this candidate when it was last read or written.
func (e *Elector) Leading() bool { return e.Holder() == e.config.Identity }

// Holder returns the identity that the lease named when it was last read or written, or "" for none.
func (e *Elector) Holder() string { return holder(e.current()) }

func holder(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func (e *Elector) current() *coordinationv1.Lease {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.observed
}

// observe records the lease. Only a change of its spec restarts the wait of other candidates: metadata may change for
// other reasons.
func (e *Elector) observe(lease *coordinationv1.Lease, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.observed
	if before == nil || !apiequality.Semantic.DeepEqual(before.Spec, lease.Spec) {
		e.observedAt = now
	}
	e.observed = lease
	if was, is := holder(before), holder(lease); was != is && is != e.config.Identity {
		e.config.Log.Info("the lease has another holder", "lease", e.name(), "holder", is)
	}
}

// valid reports whether the observed term has not expired.
func (e *Elector) valid(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.observed == nil || e.observed.Spec.LeaseDurationSeconds == nil {
		return false
	}
	return e.observedAt.Add(time.Duration(*e.observed.Spec.LeaseDurationSeconds) * time.Second).After(now)
}

func (e *Elector) name() string { return e.config.Namespace + "/" + e.config.Name }

// sleep waits for d, and reports whether ctx lasted as long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
