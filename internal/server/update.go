package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// writeTries is the maximum number of retries of a write that names no resourceVersion.
const writeTries = 100

// update replaces an object, or the part of it that a subresource stands for.
func (s *Server) update(c *call) error {
	if err := c.negotiate(asTable, asPartial); err != nil {
		return err
	}
	o, err := updateOptions(c.http)
	if err != nil {
		return err
	}
	if c.sub != nil && c.sub.Apply != nil {
		return s.updateSubresource(c, o)
	}
	obj, err := c.decode(o)
	if err != nil {
		return err
	}
	if err := c.matchURL(obj); err != nil {
		return err
	}
	if c.info().CreateOnUpdate && c.sub == nil && s.store.Get(c.key()) == nil {
		err := s.createByUpdate(c, o, obj.DeepCopyObject().(kind.Object))
		if !apierrors.IsAlreadyExists(err) { // another writer created it first: update that object
			return err
		}
	}
	revision, err := revisionOf(obj)
	once := err == nil && revision != 0 // a retry must not write to another revision
	written, err := s.write(c, o, func(current kind.Object) (kind.Object, error) {
		if once {
			return keepInitializers(obj, current), nil
		}
		return keepInitializers(obj.DeepCopyObject().(kind.Object), current), nil
	})
	if err != nil {
		return err
	}
	return s.answerWritten(c, written)
}

// createByUpdate serves a PUT of an object that does not exist, for kinds that allow it. A resourceVersion in
// the body is ignored, since it belongs to a deleted object; a uid is a conflict.
func (s *Server) createByUpdate(c *call, o writeOptions, obj kind.Object) error {
	if _, err := revisionOf(obj); err != nil {
		return apierrors.NewInvalid(qualified(c.kind), c.name, invalidVersion(obj.GetResourceVersion()))
	}
	if uid := obj.GetUID(); uid != "" {
		return otherUID(c, uid, "")
	}
	obj.SetResourceVersion("")
	if err := s.mayCreate(c); err != nil {
		return err
	}
	return s.createObject(c, o, obj)
}

// written is the result of a write: the committed object, or, of a dry run or of a write that deleted the
// object, its last state.
type written struct {
	committed *object.Object
	state     kind.Object
}

func (s *Server) answerWritten(c *call, w *written) error {
	switch {
	case w.committed == nil:
		return s.answerUncommitted(c, http.StatusOK, w.state)
	case c.sub != nil && c.sub.View != nil:
		return s.answerView(c, http.StatusOK, w.committed)
	}
	return s.answer(c, http.StatusOK, w.committed)
}

// write changes an existing object: next makes the new state from the current one. It is called again if
// another writer committed first and the new state names no revision. It returns another object, and must not
// change current.
func (s *Server) write(c *call, o writeOptions, next func(current kind.Object) (kind.Object, error)) (*written, error) {
	for try := 0; ; try++ {
		warnings := len(c.warnings)
		w, again, err := s.writeOnce(c, o, next)
		if !again || try >= writeTries {
			return w, err
		}
		c.warnings = c.warnings[:warnings]
	}
}

// writeOnce tries once. again reports whether the error is a conflict that a retry may resolve, or answer
// differently.
func (s *Server) writeOnce(c *call, o writeOptions,
	next func(kind.Object) (kind.Object, error)) (w *written, again bool, err error) {
	current := s.store.Get(c.key())
	if current == nil {
		return nil, false, s.absent(c.resource(), c.key())
	}
	old, err := read(c.kind, current)
	if err != nil {
		return nil, false, err
	}
	c.spans.at(stagePatch)
	obj, err := next(old)
	if err != nil {
		return nil, false, err
	}
	named, err := preconditions(c, obj, current)
	if err != nil {
		return nil, false, err
	}
	if err := s.admitUpdate(c, o, obj, old); err != nil {
		return nil, false, err
	}
	w, err = s.replace(c, o, current, obj, old)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) {
		gone := conflict.Key == c.key() && conflict.Actual == nil // a 404, not a conflict
		return nil, !named || gone, changed(c.resource(), c.name)
	}
	if err == nil {
		c.warnAbout(obj, old)
	}
	return w, false, err
}

// preconditions checks the uid and the resourceVersion of a new state. named reports whether the client named
// a resourceVersion; a patched object always carries that of the state it was made from.
func preconditions(c *call, obj kind.Object, current *object.Object) (named bool, err error) {
	if uid := obj.GetUID(); uid != "" && uid != current.UID && c.verb == "update" {
		return false, otherUID(c, uid, current.UID)
	}
	r, err := revisionOf(obj)
	if err != nil {
		return false, apierrors.NewInvalid(qualified(c.kind), c.name, invalidVersion(obj.GetResourceVersion()))
	}
	switch {
	case r != 0 && r != current.Revision:
		return true, changed(c.resource(), c.name)
	case r == 0 && c.info().ConditionalUpdate && (c.sub == nil || c.sub.Apply == nil):
		return false, c.unconditional()
	}
	return r != 0 && c.verb == "update", nil
}

// otherUID is the conflict of an update whose uid is not that of the existing object, if there is one.
func otherUID(c *call, named, there types.UID) error {
	return apierrors.NewConflict(c.resource(), c.name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %v, UID in object meta: %v",
		registryPath(c), named, there))
}

// unconditional is the 422 of an update that must name a resourceVersion and does not.
func (c *call) unconditional() error {
	gk := schema.GroupKind{Group: c.gvr.Group, Kind: c.gvr.Resource}
	return apierrors.NewInvalid(gk, c.name, field.ErrorList{
		field.Invalid(metadataPath.Child("resourceVersion"), uint64(0), "must be specified for an update"),
	})
}

// registryPath returns the storage path of an object as Kubernetes prints it in errors.
func registryPath(c *call) string {
	path := "/registry/"
	if c.gvr.Group != "" && !c.builtin() {
		path += c.gvr.Group + "/"
	}
	path += c.gvr.Resource + "/"
	if c.info().Namespaced {
		path += c.namespace + "/"
	}
	return path + c.name
}

// admitUpdate runs a new state through ownership, admission and validation.
func (s *Server) admitUpdate(c *call, o writeOptions, obj, old kind.Object) error {
	fillUpdate(obj, old)
	tidyInitializers(obj, old, c.subresource)
	c.spans.at(stageOwn)
	s.own(c, o, obj, old)
	if err := s.mutate(c, o, obj, old); err != nil {
		return err
	}
	c.spans.at(stageValidate)
	sub := c.subresource
	tidyInitializers(obj, old, sub)
	c.kind.Prepare(obj, old, sub)
	keepTimes(obj, old)
	if c.sub == nil || c.sub.Apply != nil {
		if err := s.assign(c.kind, obj, old); err != nil {
			return err
		}
	}
	if err := validateUpdate(c.validating(), c.kind, obj, old, sub); err != nil {
		return err
	}
	return s.validateAdmission(c, o, obj, old)
}

// replace commits a valid new state. A state that changes nothing is not written, so that the revision stays;
// one that removes the last finalizer of a deleted object removes the object.
func (s *Server) replace(c *call, o writeOptions, current *object.Object, obj, old kind.Object) (*written, error) {
	gone := released(c.kind, obj)
	if o.dryRun {
		obj.SetResourceVersion(current.Revision.String())
		return &written{state: obj}, nil
	}
	switch {
	case gaveUp(obj):
		return s.giveUp(c, current, obj)
	case gone:
		c.spans.at(stageCommit)
		return s.finish(c.context(), c.kind, store.Change{Key: current.Key}, current, obj)
	}
	c.spans.at(stageEncode)
	fresh, err := encode(c.kind, obj, c.accept.form(c.endpoint.GroupVersion()))
	if err != nil {
		return nil, err
	}
	if same, err := unchanged(c.codec(), fresh, current); err != nil || same {
		return &written{committed: current}, err
	}
	if err := storable(fresh, current); err != nil {
		return nil, err
	}
	change := store.Change{Key: current.Key, Object: fresh, Expect: store.At(current.Revision)}
	c.spans.at(stageCommit)
	if err := s.commit(c.context(), c.kind, change, obj, old); err != nil {
		return nil, err
	}
	return &written{committed: fresh}, s.settle(c.context(), c.kind, current, fresh)
}

// unchanged reports whether a new state equals the current one except for its revision. It does not if the
// current state is stored in another version, or without defaults that the new state has.
func unchanged(codec object.Codec, fresh, current *object.Object) (bool, error) {
	was, form := current.Stored(), fresh.Form()
	if was.Form.APIVersion != form.APIVersion {
		return false, nil
	}
	if was.Form != form {
		var err error
		if was, err = current.Encoding(codec, form); err != nil {
			return false, err
		}
	}
	return was.EqualExceptRevision(fresh.Stored()), nil
}

// finish removes an object that nothing holds any longer, together with other changes. obj is its last state.
func (s *Server) finish(
	ctx context.Context, k kind.Kind, change store.Change, current *object.Object, obj kind.Object,
	also ...store.Change,
) (*written, error) {
	change.Expect = store.At(current.Revision)
	var old kind.Object
	if k.Info().Claims {
		var err error
		if old, err = decoded(k, current); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := s.store.Commit(ctx, append(append(also, change), claimChanges(k, nil, old)...)...); err != nil {
		return nil, err
	}
	obj.SetResourceVersion(current.Revision.String())
	return &written{state: obj}, s.settle(ctx, k, current, nil)
}
