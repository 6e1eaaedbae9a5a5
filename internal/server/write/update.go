package write

import (
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/patch/ownership"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// Update replaces an object, or the part of it that a subresource stands for.
func (w *Writer) Update(req *request.Request) (*request.Result, error) {
	o, err := req.WriteOptions("")
	if err != nil {
		return nil, err
	}
	op := &operation{Writer: w, req: req, WriteOptions: o}
	body, err := op.decode()
	if err != nil {
		return nil, err
	}
	if req.Sub != nil && req.Sub.Apply != nil {
		return op.updateView(func(kind.Object) (runtime.Object, error) { return body.DeepCopyObject(), nil })
	}
	obj := body.(kind.Object)
	if err := op.matchURL(obj); err != nil {
		return nil, err
	}
	if req.Info.CreateOnUpdate && req.Sub == nil && w.Store.Get(req.Key()) == nil {
		result, err := op.createByUpdate(obj.DeepCopyObject().(kind.Object))
		if !apierrors.IsAlreadyExists(err) { // another writer created it first: update that object
			return result, err
		}
	}
	revision, err := stored.RevisionOf(obj)
	once := err == nil && revision != 0 // a retry must not write to another revision
	return op.update(func(current kind.Object) (kind.Object, error) {
		next := obj
		if !once {
			next = obj.DeepCopyObject().(kind.Object)
		}
		// Clients whose types lack the field drop it.
		if !kind.HasInitializers(next) && kind.HasInitializers(current) {
			kind.SetInitializers(next, kind.InitializersOf(current))
		}
		return next, nil
	})
}

// createByUpdate serves a PUT of an object that does not exist, for kinds that allow it. A resourceVersion in the body
// is ignored, since it belongs to a deleted object; a uid is a conflict.
func (op *operation) createByUpdate(obj kind.Object) (*request.Result, error) {
	if _, err := stored.RevisionOf(obj); err != nil {
		return nil, notNumber(obj.GetResourceVersion())
	}
	if uid := obj.GetUID(); uid != "" {
		return nil, otherUID(op.req, uid, "")
	}
	obj.SetResourceVersion("")
	if err := op.req.May(op.req.Context(), "create"); err != nil {
		return nil, err
	}
	created := &operation{Writer: op.Writer, req: op.req, WriteOptions: op.WriteOptions, obj: obj}
	return created.create()
}

// update changes an existing object: next makes the new state from the current one. It is called again if another
// writer committed first and the request names no revision. It returns another object, and must not change current.
func (op *operation) update(next func(current kind.Object) (kind.Object, error)) (*request.Result, error) {
	for try := 0; ; try++ {
		warnings := len(op.req.Warnings)
		retry, err := op.updateOnce(next)
		switch {
		case err == nil:
			return &request.Result{Object: op.fresh, State: op.state}, nil
		case !retry || try >= writeTries:
			return nil, err
		}
		op.req.Warnings = op.req.Warnings[:warnings]
	}
}

// updateOnce takes a new state through the stages from patch to validate, and replaces the object with it. retry
// reports whether the error is a conflict that a retry may resolve, or answer differently.
func (op *operation) updateOnce(next func(kind.Object) (kind.Object, error)) (retry bool, err error) {
	req, k, key := op.req, op.req.Kind, op.req.Key()
	current := op.Store.Get(key)
	if current == nil {
		return false, stored.Absent(op.Store, req.Resource(), key)
	}
	old, err := stored.Read(k, current)
	if err != nil {
		return false, err
	}
	req.Spans.At(stage.Patch)
	obj, err := next(old)
	if err == nil {
		err = req.Context().Err() // conversions do not end with it
	}
	if err != nil {
		return false, err
	}
	op.current, op.old, op.obj, op.fresh, op.state = current, old, obj, nil, nil
	sub, replaces := req.Subresource, req.Sub == nil || req.Sub.Apply == nil

	if uid := obj.GetUID(); uid != "" && uid != current.UID && req.Verb == "update" {
		return false, otherUID(op.req, uid, current.UID)
	}
	revision, err := stored.RevisionOf(obj)
	switch {
	case err != nil:
		return false, notNumber(obj.GetResourceVersion())
	case revision != 0 && revision != current.Revision:
		return false, status.Changed(req.Resource(), req.Name)
	case revision == 0 && req.Info.ConditionalUpdate && replaces:
		gk := schema.GroupKind{Group: req.GVR.Group, Kind: req.GVR.Resource}
		return false, kind.NewInvalid(gk, req.Name, field.ErrorList{
			field.Invalid(metadataPath.Child("resourceVersion"), uint64(0), "must be specified for an update"),
		})
	}
	named := revision != 0 && req.Verb == "update" // a patched object always has the revision it was made from

	restoreMetadata(obj, old)
	if kind.HasInitializers(obj) || sub != "" && kind.HasInitializers(old) {
		tidyInitializers(obj, old, sub)
	}
	op.own()
	if err := op.admit(); err != nil {
		return false, err
	}
	if err := checkEscalation(op); err != nil {
		return false, err
	}
	if obj.GetResourceVersion() == "" { // a mutation has removed it
		obj.SetResourceVersion(old.GetResourceVersion())
	}
	req.Spans.At(stage.Validate)
	if kind.HasInitializers(obj) || sub != "" && kind.HasInitializers(old) {
		tidyInitializers(obj, old, sub)
	}
	k.Prepare(obj, old, sub)
	keepTimes(obj, old)
	if req.Info.Claims && (req.Sub == nil || req.Sub.Apply != nil) {
		if err := op.assign(); err != nil {
			return false, err
		}
	}
	if err := op.validate(); err != nil {
		return false, err
	}
	if err := op.replace(); err != nil {
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return false, err
		}
		deleted := conflict.Key == key && conflict.Actual == nil // a 404, not a conflict
		return !named || deleted, status.Changed(req.Resource(), req.Name)
	}
	for _, w := range k.Warnings(obj, old, sub) {
		req.Warn(w)
	}
	return false, nil
}

// restoreMetadata restores metadata that an update may not change, or not remove by leaving it out.
func restoreMetadata(obj, old kind.Object) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if v := obj.GetResourceVersion(); v == "" || v == "0" {
		obj.SetResourceVersion(old.GetResourceVersion())
	}
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	obj.SetGeneration(old.GetGeneration())
	if old.GetDeletionTimestamp() != nil { // otherwise setting one is an error of the client
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	obj.SetSelfLink("")
	if obj.GetGenerateName() == "" {
		obj.SetGenerateName(old.GetGenerateName())
	}
}

// replace encodes and commits a valid new state. A state that changes nothing is not written, so that the revision
// stays; one that removes the last finalizer of a deleted object, or fails its initialization, removes the object.
func (op *operation) replace() error {
	obj, current := op.obj, op.current
	if op.DryRun {
		obj.SetResourceVersion(current.Revision.String())
		op.state = obj
		return nil
	}
	if i := kind.InitializersOf(obj); i != nil && i.Result != nil {
		return op.rejectUninitialized()
	}
	if obj.GetDeletionTimestamp() != nil && released(op.req.Kind, obj) {
		op.req.Spans.At(stage.Commit)
		return op.finish(store.Change{})
	}
	if err := op.encode(); err != nil || op.fresh == current {
		return err
	}
	op.req.Spans.At(stage.Commit)
	change := store.Change{Key: current.Key, Object: op.fresh, Expect: store.At(current.Revision)}
	return op.commit(change, obj, op.old)
}

// updateView writes an object through what a subresource with its own kind shows of it: next makes the new view from
// the current one, which has the ownership of the fields that it shows. If op.owned is set, next also sets the
// ownership of the new view. A view with the uid of another object is a conflict.
func (op *operation) updateView(next func(view kind.Object) (runtime.Object, error)) (*request.Result, error) {
	req, sub, owned := op.req, op.req.Sub, op.owned
	op.owned = true // below
	return op.update(func(current kind.Object) (kind.Object, error) {
		obj := current.DeepCopyObject().(kind.Object)
		shown, err := sub.View(obj)
		if err != nil {
			return nil, err
		}
		view := shown.(kind.Object)
		view.GetObjectKind().SetGroupVersionKind(sub.Kind)
		scaling, err := ownership.Scaling(req.Kind, sub, req.Endpoint.APIVersion(), obj.GetManagedFields())
		if err != nil {
			return nil, err
		}
		if entries, err := scaling.ToSubresource(); err == nil {
			view.SetManagedFields(entries)
		}
		body, err := next(view)
		if err != nil {
			return nil, err
		}
		written := body.(kind.Object)
		written.GetObjectKind().SetGroupVersionKind(sub.Kind)
		if !owned {
			op.owners.ofView(sub).Update(sub.Kind.GroupVersion().String(), req.Subresource, view, written, op.Manager)
		}
		if err := op.matchURL(written); err != nil {
			return nil, err
		}
		if uid := written.GetUID(); uid != "" && uid != obj.GetUID() {
			what := schema.GroupResource{Group: req.GVR.Group, Resource: req.GVR.Resource + "/" + req.Subresource}
			return nil, apierrors.NewConflict(what, req.Name, // Kubernetes' text
				fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", "Precondition failed", uid,
					obj.GetUID()))
		}
		revision := written.GetResourceVersion()
		if err := sub.Apply(obj, body); err != nil {
			return nil, err
		}
		obj.SetResourceVersion(revision)
		// an error preserves the ownership
		if entries, err := scaling.ToParent(written.GetManagedFields()); err == nil {
			obj.SetManagedFields(entries)
		}
		return obj, nil
	})
}

// notNumber is the error of a resourceVersion that is not a number. It is not a Status in Kubernetes either: the answer
// is a 500.
func notNumber(version string) error {
	_, err := strconv.ParseUint(version, 10, 64)
	return err
}

// otherUID is the conflict of an update whose uid is not that of the existing object, if there is one. Its text is
// Kubernetes', with the key of the object in etcd.
func otherUID(req *request.Request, named, existing types.UID) error {
	path := "/registry/"
	if req.GVR.Group != "" && !req.Info.Builtin {
		path += req.GVR.Group + "/"
	}
	path += req.GVR.Resource + "/"
	if req.Info.Namespaced {
		path += req.Namespace + "/"
	}
	return apierrors.NewConflict(req.Resource(), req.Name,
		fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", path+req.Name, named, existing))
}
