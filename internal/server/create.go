package server

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/internal/store"
)

// generateTries is the number of retries with another generated name.
const generateTries = 8

// claimTries is the number of retries when another writer claimed an assigned value, or changed the object's
// namespace.
const claimTries = 100

var namespaces = schema.GroupResource{Resource: "namespaces"}

// errRevisionOfNew is Kubernetes' error. It is not a Status in Kubernetes either: the answer is a 500.
var errRevisionOfNew = errors.New("resourceVersion should not be set on objects to be created")

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
	wipeCreate(obj)
	tidyNull(obj)
	c.spans.at(stageOwn)
	s.own(c, o, obj, nil)
	if err := s.mutate(c, o, obj, nil); err != nil {
		return err
	}
	if err := c.matchURL(obj); err != nil { // a plugin may have changed it
		return err
	}
	generated := obj.GetName() == ""
	fillCreate(obj)
	tidyInitializers(obj, nil, "")
	c.kind.Prepare(obj, nil, "")
	w, err := s.insert(c, o, obj, generated)
	if err != nil {
		return err
	}
	if w.committed == nil {
		return s.answerUncommitted(c, http.StatusCreated, w.state)
	}
	if w.committed, err = s.initialized(c, o, w.committed); err != nil {
		return err
	}
	return s.answer(c, http.StatusCreated, w.committed)
}

// insert stores a new object. It retries with another generated name, or with other assigned values, if
// another writer committed one of them first.
func (s *Server) insert(c *call, o writeOptions, asked kind.Object, generated bool) (*written, error) {
	for names, claims := 0, 0; ; {
		obj := asked
		if c.info().Claims { // a lost assignment must not look like a value that the client asked for
			obj = asked.DeepCopyObject().(kind.Object)
		}
		w, err := s.insertOnce(c, o, obj)
		var conflict *store.ConflictError
		switch {
		case err == nil || !errors.As(err, &conflict):
			return w, err
		case conflict.Key.GroupResource() != c.stored():
			if claims++; claims > claimTries {
				return nil, apierrors.NewConflict(c.resource(), obj.GetName(),
					errors.New("other writers keep taking the values that the server assigns; try again"))
			}
		default:
			if names++; !generated || names > generateTries {
				return nil, alreadyExists(c, conflict.Actual, obj.GetName())
			}
			asked.SetName("")
			generateName(asked)
		}
	}
}

// alreadyExists returns the 409 of a create whose name exists. Its message states if that object is being
// deleted.
func alreadyExists(c *call, there *object.Object, name string) error {
	err := apierrors.NewAlreadyExists(c.resource(), name)
	if there == nil {
		return err
	}
	if obj, decodeErr := decoded(c.kind, there); decodeErr == nil && obj.GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// insertOnce validates a new object and commits it with its claims. A dry run ends before the commit.
func (s *Server) insertOnce(c *call, o writeOptions, obj kind.Object) (*written, error) {
	c.spans.at(stageValidate)
	if err := s.readable(c.kind, obj); err != nil {
		return nil, err
	}
	if err := s.assign(c.kind, obj, nil); err != nil {
		return nil, err
	}
	if err := validateCreate(c.validating(), c.kind, obj); err != nil {
		return nil, err
	}
	c.warnAbout(obj, nil) // sent even if the name exists
	if err := s.validateAdmission(c, o, obj, nil); err != nil {
		return nil, err
	}
	key := object.KeyOf(c.stored(), obj.GetNamespace(), obj.GetName())
	if o.dryRun {
		if there := s.store.Get(key); there != nil {
			return nil, &store.ConflictError{Key: key, Actual: there}
		}
		return &written{state: obj}, nil
	}
	if r, err := revisionOf(obj); err == nil && r != 0 {
		return nil, errRevisionOfNew
	}
	obj.SetResourceVersion("")
	c.spans.at(stageEncode)
	committed, err := encode(c.kind, obj, c.accept.form(c.endpoint.GroupVersion()))
	if err != nil {
		return nil, err
	}
	if err := storable(committed, nil); err != nil {
		return nil, err
	}
	change := store.Change{Key: key, Object: committed, Expect: store.Absent()}
	also, err := s.namespaceTakes(c, o, obj)
	if err != nil {
		return nil, err
	}
	c.spans.at(stageCommit)
	if err := s.commit(c.context(), c.kind, change, obj, nil, also...); err != nil {
		return nil, err
	}
	if err := s.crds.undo(c.context(), c, committed); err != nil {
		return nil, err
	}
	return &written{committed: committed}, s.settle(c.context(), c.kind, nil, committed)
}

// warnAbout adds the kind's warnings about a write that its rules allow.
func (c *call) warnAbout(obj, old kind.Object) {
	for _, w := range c.kind.Warnings(obj, old, c.subresource) {
		c.warn(w)
	}
}

// commit writes an object, the changes of its claims, and other changes in one transaction.
func (s *Server) commit(ctx context.Context, k kind.Kind, change store.Change, obj, old kind.Object,
	also ...store.Change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.store.Commit(ctx, append(append(also, change), claimChanges(k, obj, old)...)...)
	s.expires(k, change.Object, err)
	return err
}

// namespaceTakes checks once more, after all plugins, that the namespace of a new object accepts objects, and
// returns a change that fails the commit if the namespace has changed since. An object that is created after
// its namespace was emptied would be in no namespace, and would never be deleted.
func (s *Server) namespaceTakes(c *call, o writeOptions, obj kind.Object) ([]store.Change, error) {
	if obj.GetNamespace() == "" || !s.lifecycle {
		return nil, nil
	}
	key := object.KeyOf(namespaces, "", obj.GetNamespace())
	stays := store.Change{Key: key, Expect: store.Absent(), Unchanged: true}
	if namespace := s.store.Get(key); namespace != nil {
		stays.Expect = store.At(namespace.Revision)
	}
	return []store.Change{stays}, plugins.NamespaceLifecycle{}.Admit(c.context(), c.attributes(o, obj, nil), reader{s})
}
