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

// sweepDelay is how long a sweep waits for the other deletions of a burst.
const sweepDelay = time.Second

// sweeper removes real networks whose object is gone: what is left when an object went without its finalizer, or when
// the objects were lost altogether. It is a control loop with one request, for everything.
type sweeper struct {
	provider provider.Provider
	groups   []declared
	resync   time.Duration
	due      loop.Trigger
	log      *slog.Logger
}

// everything is what a sweep is asked for.
var everything = loop.Request{Name: "everything"}

// add adds the loop to a manager. It sweeps at the start, soon after it is told to, and as often as informers resync.
func (s *sweeper) add(m *loop.Manager) {
	s.due.Add(everything)
	m.Add(loop.Options{Name: "network-sweep", Reconciler: s, Sources: []loop.Source{&s.due}, Limiter: retries()})
}

// soon has everything swept when a burst of deletions is likely to be over.
func (s *sweeper) soon() { s.due.AddAfter(everything, sweepDelay) }

// Reconcile implements controller.Reconciler.
func (s *sweeper) Reconcile(ctx context.Context, _ loop.Request) (loop.Result, error) {
	return loop.Result{RequeueAfter: s.resync}, s.sweep(ctx)
}

// declared reads the uids of all objects of a group from the server, not from a cache, which may be behind. The error is
// NotFound while nothing serves the kind.
type declared func(ctx context.Context) ([]types.UID, error)

// sweep does it once. Nothing is removed when the objects of one group cannot be read. An object exists before its real
// network does, so none whose real network was listed before the objects were is taken for gone.
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
			failed = append(failed, fmt.Errorf("remove network %s, whose object is gone: %w", s.provider.ID(uid), err))
			continue
		}
		s.log.Info("network swept: its object is gone", "id", s.provider.ID(uid))
	}
	return errors.Join(failed...)
}

// keepDeclared takes those out of orphans whose object the server has.
func (s *sweeper) keepDeclared(ctx context.Context, orphans map[types.UID]bool) error {
	for _, g := range s.groups {
		uids, err := g(ctx)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("look for networks whose object is gone: %w", err)
		}
		for _, uid := range uids {
			delete(orphans, uid)
		}
	}
	return nil
}

// list implements declared, in pages, as a group may have many objects.
func (r *reconciler) list(ctx context.Context) ([]types.UID, error) {
	var uids []types.UID
	options := metav1.ListOptions{Limit: 500}
	for {
		page, err := r.networks.List(ctx, "", options)
		if err != nil {
			return nil, err
		}
		if page.Incomplete {
			return nil, errors.New("the server has networks that it cannot read: what is real of those would be taken for swept")
		}
		for _, n := range page.Items {
			uids = append(uids, n.UID)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return uids, nil
		}
	}
}
