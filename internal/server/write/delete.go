package write

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// Delete removes an object, or marks it as deleted if something holds it. The result is the object in its last state,
// if it still exists or its kind demands that, and otherwise a Status.
func (w *Writer) Delete(req *request.Request) (*request.Result, error) {
	req.Spans.At(stage.Decode)
	options, err := deleteOptions(req)
	if err != nil {
		return nil, err
	}
	if req.Info.Undeletable != nil {
		if reason := req.Info.Undeletable(req.Name); reason != "" {
			return nil, apierrors.NewForbidden(req.Resource(), req.Name, errors.New(reason))
		}
	}
	op := newRemoval(w, req, options)
	stays, err := op.remove(req.Key(), nil)
	if err != nil {
		return nil, err
	}
	code := http.StatusOK
	//lint:ignore SA1019 old clients still send it, and Kubernetes still answers them so
	if o := options.OrphanDependents; o != nil && !*o && stays {
		code = http.StatusAccepted
	}
	if op.fresh != nil || op.state != nil {
		return &request.Result{Code: code, Object: op.fresh, State: op.state}, nil
	}
	var uid types.UID // unknown of an object that cannot be read
	if op.current != nil {
		uid = op.current.UID
	}
	return &request.Result{Status: &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: req.Name, Group: req.GVR.Group, Kind: req.GVR.Resource, UID: uid},
	}}, nil
}

// removalTimeout is how long the removal of an object may take after it was marked.
const removalTimeout = 10 * time.Second

// removal is an operation that removes objects.
type removal struct {
	*operation
	options *metav1.DeleteOptions
	// marked is the object with its deletion time, as remove committed it before the removal without a grace period;
	// nil if remove has committed nothing. Once it is set, remove succeeds even if another client removes the object
	// first.
	marked kind.Object
}

// newRemoval returns a removal of which plugins see the options.
func newRemoval(w *Writer, req *request.Request, options *metav1.DeleteOptions) *removal {
	o := request.WriteOptions{DryRun: len(options.DryRun) > 0}
	return &removal{operation: &operation{Writer: w, req: req, WriteOptions: o, deletion: options}, options: options}
}

// deleteOptions reads the options of a delete from the body if there is one, otherwise from the query. A body has
// DeleteOptions of any group in JSON, YAML or protobuf; their kind is optional.
func deleteOptions(req *request.Request) (*metav1.DeleteOptions, error) {
	body, err := req.Body.ReadBody()
	if err != nil {
		return nil, err
	}
	o := &metav1.DeleteOptions{}
	if len(body) > 0 {
		info, ok := runtime.SerializerInfoForMediaType(metascheme.Codecs.SupportedMediaTypes(), req.ContentType)
		if !ok {
			return nil, status.UnsupportedMedia(request.MediaTypes...)
		}
		if err := checkOptions(req.ContentType, body); err != nil {
			return nil, err
		}
		as := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
		obj, _, err := metascheme.Codecs.DecoderToVersion(info.Serializer, as.GroupVersion()).Decode(body, &as, o)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if obj != o {
			return nil, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
		}
	} else if err := request.ReadOptions(req.Query, o, metav1.Convert_url_Values_To_v1_DeleteOptions); err != nil {
		return nil, err
	}
	if leavesPropagation(o) {
		req.Warn(req.Endpoint.OrphanWarning)
	}
	return o, request.InvalidOptions("DeleteOptions", metavalidation.ValidateDeleteOptions(o))
}

// checkOptions returns the 413 of options that have too many values, or would be too large without their aliases.
func checkOptions(mediaType string, body []byte) error {
	var err error
	switch mediaType {
	case request.JSON:
		err = kind.CheckJSON(body)
	case request.YAML:
		err = checkYAML(body)
	}
	if err, ok := tooLarge(err); ok {
		return err
	}
	return nil // the decoder reports syntax errors
}

// remove deletes the object of a key if before returns no error. before replaces the call of the plugins: it receives
// the object before it is marked as deleted, may change it, and returns further changes to commit. If before is nil,
// the plugins are called. stays reports whether the object still exists. remove retries after a conflict.
func (op *removal) remove(key object.Key,
	before func(kind.Object) ([]store.Change, error)) (stays bool, err error) {
	op.marked = nil
	for try := 0; ; try++ {
		stays, err := op.removeOnce(key, before)
		if err == nil {
			return stays, nil
		}
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return false, err
		}
		if try >= writeTries {
			return false, status.Changed(op.req.Resource(), key.Name())
		}
	}
}

func (op *removal) removeOnce(key object.Key,
	before func(kind.Object) ([]store.Change, error)) (stays bool, err error) {
	req, k, o := op.req, op.req.Kind, op.options
	current := op.Store.Get(key)
	op.current, op.old, op.obj, op.fresh, op.state = current, nil, nil, nil, nil
	if m := op.marked; m != nil && (current == nil || current.UID != m.GetUID()) {
		op.state = m
		return false, nil
	}
	if current == nil {
		if op.Store.Damage(key) != nil {
			return false, op.removeDamaged(key)
		}
		return false, status.NotFound(req.Resource(), key.Name())
	}
	if ignoresUnreadable(o) {
		return false, op.removeUnreadable()
	}
	if err := op.checkPreconditions(); err != nil {
		return false, err
	}
	obj, err := stored.Read(k, current)
	if err != nil {
		return false, err
	}
	var also []store.Change
	if before != nil {
		also, err = before(obj)
	} else {
		op.old = obj
		err = op.admitOnly(nil)
	}
	if err != nil {
		return false, err
	}
	op.obj = obj
	plan := planDelete(k, obj, o, req.Endpoint.Orphans)
	shown := plan.graceful || req.Info.ReturnsDeleted // the answer to a removal
	if len(o.DryRun) > 0 {
		if plan.keep || plan.unchanged || shown {
			op.state = obj
		}
		return plan.keep || plan.unchanged, nil
	}
	req.Spans.At(stage.Commit)
	switch {
	case plan.unchanged:
		op.fresh = current
		if req.Stored == stored.Definitions {
			err = op.Definitions.AfterCommit(req.Context(), current, current)
		}
		return true, err
	case plan.keep:
		op.fresh, err = op.mark(also...)
		return err == nil, err
	case plan.mark:
		if op.current, err = op.mark(also...); err != nil {
			return false, err
		}
		obj.SetResourceVersion(op.current.Revision.String())
		op.marked, also = obj, nil
		// The pod must not stay only because its client disconnects now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), removalTimeout)
		defer cancel()
		op.req = req.WithContext(ctx)
		defer func() { op.req = req }()
	}
	err = op.finish(store.Change{}, also...)
	if !shown {
		op.state = nil
	}
	return false, err
}

// mark commits the object with its deletion time, together with other changes. The claims of the object stay.
func (op *removal) mark(also ...store.Change) (*object.Object, error) {
	fresh, err := stored.Encode(op.req.Kind, op.obj, op.req.Form())
	if err != nil {
		return nil, err
	}
	change := store.Change{Key: fresh.Key, Object: fresh, Expect: store.At(op.current.Revision), Quota: store.Exempt}
	return fresh, op.commit(change, nil, nil, also...)
}

// checkPreconditions returns a conflict if the object is not the one, or not in the state, that the client named.
func (op *removal) checkPreconditions() error {
	p, current := op.options.Preconditions, op.current
	if p == nil {
		return nil
	}
	gr := op.req.Resource()
	gr.Resource = op.req.Info.Kind
	if p.UID != nil && *p.UID != current.UID {
		return apierrors.NewConflict(gr, current.Key.Name(), fmt.Errorf("the UID in the precondition (%s) does not "+
			"match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, current.UID))
	}
	if v := p.ResourceVersion; v != nil && *v != current.Revision.String() {
		return apierrors.NewConflict(gr, current.Key.Name(), fmt.Errorf("the ResourceVersion in the precondition (%s) "+
			"does not match the ResourceVersion in record (%s). The object might have been modified", *v,
			current.Revision))
	}
	return nil
}
