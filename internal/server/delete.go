package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// delete removes an object, or marks it as deleted if something holds it.
func (s *Server) delete(c *call) error {
	if err := c.negotiate(asTable, asPartial); err != nil {
		return err
	}
	c.spans.at(stageDecode)
	options, err := c.deleteOptions()
	if err != nil {
		return err
	}
	removed, err := s.remove(c, c.key(), options)
	if err != nil {
		return err
	}
	code := http.StatusOK
	//lint:ignore SA1019 old clients still send it, and Kubernetes still answers them so
	if o := options.OrphanDependents; o != nil && !*o && removed.stays {
		code = http.StatusAccepted
	}
	switch {
	case removed.kept != nil:
		return s.answer(c, code, removed.kept)
	case removed.state != nil:
		return s.answerUncommitted(c, code, removed.state)
	}
	c.spans.at(stageAnswer)
	c.sendWarnings()
	writeStatus(c.w, c.http, &metav1.Status{
		Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: c.name, Group: c.gvr.Group, Kind: c.gvr.Resource, UID: removed.uid,
		},
	})
	return nil
}

// removed is the result of a delete.
type removed struct {
	uid types.UID
	// stays reports whether the object still exists because something holds it.
	stays bool
	// kept is the object that still exists, marked as deleted.
	kept *object.Object
	// state is the object's last state, for kinds whose deletes answer with it.
	state kind.Object
}

// remove deletes the object of a key. It retries after a conflict.
func (s *Server) remove(c *call, key object.Key, o *metav1.DeleteOptions) (*removed, error) {
	return s.removeAsking(c, key, o, nil)
}

// removeAsking deletes an object if ask returns no error. ask replaces the call of the plugins: it receives
// the object before it is marked as deleted, may change it, and returns further changes to commit. If ask is
// nil, the plugins are called.
func (s *Server) removeAsking(c *call, key object.Key, o *metav1.DeleteOptions,
	ask func(kind.Object) ([]store.Change, error)) (*removed, error) {
	for try := 0; ; try++ {
		out, err := s.removeOnce(c, key, o, ask)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return out, err
		}
		if try >= writeTries {
			return nil, changed(c.resource(), key.Name())
		}
	}
}

func (s *Server) removeOnce(c *call, key object.Key, o *metav1.DeleteOptions,
	ask func(kind.Object) ([]store.Change, error)) (*removed, error) {
	current := s.store.Get(key)
	if current == nil {
		if s.store.Damage(key) != nil {
			return s.discard(c, key, o)
		}
		return nil, notFound(c.resource(), key.Name())
	}
	if ignoresUnreadable(o) {
		return s.removeUnreadable(c, current, o)
	}
	if err := deletePreconditions(c, current, o.Preconditions); err != nil {
		return nil, err
	}
	obj, err := read(c.kind, current)
	if err != nil {
		return nil, err
	}
	var also []store.Change
	if ask != nil {
		also, err = ask(obj)
	} else {
		err = s.admitDelete(c, o, obj)
	}
	if err != nil {
		return nil, err
	}
	plan := planDelete(c.kind, obj, o, c.endpoint.Orphans)
	if len(o.DryRun) > 0 {
		return plan.dryRun(c.kind, current, obj), nil
	}
	c.spans.at(stageCommit)
	switch {
	case plan.unchanged:
		return &removed{uid: current.UID, stays: true, kept: current}, s.settle(c.context(), c.kind, current, current)
	case plan.keep:
		return s.mark(c, current, obj, also)
	}
	return s.removeNow(c.context(), c.kind, current, obj, plan, also)
}

// deletePreconditions compares the uid and resourceVersion that a delete demands with those of the object.
func deletePreconditions(c *call, current *object.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	gr := c.resource()
	gr.Resource = c.info().Kind
	if p.UID != nil && *p.UID != current.UID {
		return apierrors.NewConflict(gr, current.Key.Name(),
			fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, current.UID))
	}
	if v := p.ResourceVersion; v != nil && *v != current.Revision.String() {
		return apierrors.NewConflict(gr, current.Key.Name(),
			fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *v, current.Revision))
	}
	return nil
}

// mark commits an object that is marked as deleted and still exists, with further changes.
func (s *Server) mark(c *call, current *object.Object, obj kind.Object, also []store.Change) (*removed, error) {
	fresh, err := encode(c.kind, obj, c.accept.form(c.endpoint.GroupVersion()))
	if err != nil {
		return nil, err
	}
	change := store.Change{Key: current.Key, Object: fresh, Expect: store.At(current.Revision)}
	_, err = s.store.Commit(c.context(), append(also, change)...)
	s.expires(c.kind, fresh, err)
	if err != nil {
		return nil, err
	}
	return &removed{uid: current.UID, stays: true, kept: fresh}, s.settle(c.context(), c.kind, current, fresh)
}

// removeNow removes the object from the store, with further changes.
func (s *Server) removeNow(ctx context.Context, k kind.Kind, current *object.Object, obj kind.Object, plan deletePlan,
	also []store.Change) (*removed, error) {
	w, err := s.finish(ctx, k, store.Change{Key: current.Key}, current, obj, also...)
	if err != nil {
		return nil, err
	}
	out := &removed{uid: current.UID}
	if plan.graceful || k.Info().ReturnsDeleted {
		out.state = w.state
	}
	return out, nil
}
