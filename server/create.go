package server

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store"
)

// generateTries is how often a generated name is tried again when it is taken.
const generateTries = 8

// claimTries is how often the values of an object are assigned again when another writer took one in between.
const claimTries = 100

// create stores a new object.
func (s *Server) create(c *call) error {
	if err := c.negotiate(asTable, asPartial); err != nil {
		return err
	}
	if err := s.crds.refuses(c.stored(), c.verb); err != nil {
		return err
	}
	o, err := createOptions(c.http)
	if err != nil {
		return err
	}
	obj, err := c.decode(o)
	if err != nil {
		return err
	}
	if err := c.matchURL(obj); err != nil {
		return err
	}
	return s.createObject(c, o, obj)
}

// createObject admits, validates and commits a decoded object, and answers.
func (s *Server) createObject(c *call, o writeOptions, obj kind.Object) error {
	named := obj.GetName() != ""
	fillCreate(obj)
	if err := s.mutate(c, o, obj, nil); err != nil {
		return err
	}
	if c.info().Namespaced {
		obj.SetNamespace(c.namespace)
	}
	c.kind.Prepare(obj, nil, "")
	committed, err := s.insert(c, o, obj)
	for try := 1; !named && try < generateTries && apierrors.IsAlreadyExists(err); try++ {
		obj.SetName("")
		generateName(obj)
		committed, err = s.insert(c, o, obj)
	}
	if err != nil {
		return err
	}
	if committed == nil {
		return s.answerUncommitted(c, http.StatusCreated, obj)
	}
	return s.answer(c, http.StatusCreated, committed)
}

// insert validates a new object and commits it with what it claims; nil without an error is a dry run.
func (s *Server) insert(c *call, o writeOptions, obj kind.Object) (*object.Object, error) {
	for try := 0; ; try++ {
		if err := s.assign(c.kind, obj, nil); err != nil {
			return nil, err
		}
		if err := validateCreate(c.kind, obj); err != nil {
			return nil, err
		}
		if err := s.validateAdmission(c, o, obj, nil); err != nil {
			return nil, err
		}
		for _, w := range c.kind.Warnings(obj, nil) {
			c.warn(w)
		}
		key := object.KeyOf(c.stored(), obj.GetNamespace(), obj.GetName())
		if o.dryRun {
			if s.store.Get(key) != nil {
				return nil, apierrors.NewAlreadyExists(c.resource(), obj.GetName())
			}
			return nil, nil
		}
		committed, err := encode(c.kind, obj, c.accept.form(c.endpoint.GroupVersion()))
		if err != nil {
			return nil, err
		}
		err = s.commit(c.context(), c.kind, store.Change{Key: key, Object: committed, Expect: store.Absent()}, obj, nil)
		var conflict *store.ConflictError
		switch {
		case err == nil:
			return committed, s.settle(c.context(), c.kind, nil, committed)
		case !errors.As(err, &conflict):
			return nil, err
		case conflict.Key == key:
			return nil, apierrors.NewAlreadyExists(c.resource(), obj.GetName())
		case try >= claimTries:
			return nil, apierrors.NewConflict(c.resource(), obj.GetName(), errors.New("other writers keep taking the values that the server assigns; try again"))
		}
		c.warnings = nil
	}
}

// commit writes one object, together with the values that it claims and those that it no longer does.
func (s *Server) commit(ctx context.Context, k kind.Kind, change store.Change, obj, old kind.Object) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.store.Commit(ctx, append([]store.Change{change}, claimChanges(k, obj, old)...)...)
	return err
}
