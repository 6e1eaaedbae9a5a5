package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	loop "github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/examples/network/provider"
)

// sweepDelay is the delay of a sweep, so that a burst of deletions causes only one.
const sweepDelay = time.Second

// sweeper removes real networks whose object is gone: because the object was deleted without its finalizer,
// or because the server lost its objects. It is a control loop with a single request.
type sweeper struct {
	provider provider.Provider
	groups   []declared
	resync   time.Duration
	requests loop.Trigger
	log      *slog.Logger
}

// sweepRequest is the only request of the sweeper.
var sweepRequest = loop.Request{Name: "everything"}

// add adds the loop to a manager. It sweeps at the start, after each requestSweep, and at the resync interval.
func (s *sweeper) add(m *loop.Manager) {
	s.requests.Add(sweepRequest)
	m.Add(loop.Options{Name: "network-sweep", Reconciler: s, Sources: []loop.Source{&s.requests}, Limiter: retries()})
}

// requestSweep requests a sweep after sweepDelay.
func (s *sweeper) requestSweep() { s.requests.AddAfter(sweepRequest, sweepDelay) }

// Reconcile implements controller.Reconciler.
func (s *sweeper) Reconcile(ctx context.Context, _ loop.Request) (loop.Result, error) {
	return loop.Result{RequeueAfter: s.resync}, s.sweep(ctx)
}

// declared lists the UIDs of all objects of a group from the server, because a cache may be stale. The error
// is NotFound while the kind is not served.
type declared func(ctx context.Context) ([]types.UID, error)

// sweep removes the real networks that no object declares. It removes nothing if the objects of a group
// cannot be listed. It lists real networks before objects: an object exists before its real network, so every
// listed network whose object still exists is found.
func (s *sweeper) sweep(ctx context.Context) error {
	real, err := s.provider.List(ctx)
	if err != nil || len(real) == 0 {
		return err
	}
	orphans := make(map[types.UID]bool, len(real))
	for _, uid := range real {
		orphans[uid] = true
	}
	if err := s.keepDeclared(ctx, orphans); err != nil {
		return err
	}
	var failed []error
	for uid := range orphans {
		if err := s.provider.Delete(ctx, uid); err != nil {
			failed = append(failed, fmt.Errorf("remove network %s, whose object no longer exists: %w",
				s.provider.ID(uid), err))
			continue
		}
		s.log.Info("network removed: its object no longer exists", "id", s.provider.ID(uid))
	}
	return errors.Join(failed...)
}

// keepDeclared removes the UIDs of existing objects from orphans.
func (s *sweeper) keepDeclared(ctx context.Context, orphans map[types.UID]bool) error {
	for _, g := range s.groups {
		uids, err := g(ctx)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("find networks whose object no longer exists: %w", err)
		}
		for _, uid := range uids {
			delete(orphans, uid)
		}
	}
	return nil
}

// list implements declared. It lists in pages, because a group may have many objects.
func (r *reconciler) list(ctx context.Context) ([]types.UID, error) {
	var uids []types.UID
	options := metav1.ListOptions{Limit: 500}
	for {
		page, err := r.networks.List(ctx, "", options)
		if err != nil {
			return nil, err
		}
		if page.Incomplete {
			return nil,
				errors.New("nothing was removed, because the server has Networks that it cannot read: " +
					"repair or delete them")
		}
		for _, n := range page.Items {
			uids = append(uids, n.UID)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return uids, nil
		}
	}
}
