package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// ownManager is the field manager of the server's own writes, as in Kubernetes.
const ownManager = "kube-apiserver"

// Ensure creates an object that the server should have, with its kind's defaults and rules but without plugins, or
// corrects the existing one. It reports whether the object existed. It does nothing if a definition serves the
// resource, with its own objects, or if the object cannot be read.
func (w *Writer) Ensure(ctx context.Context, i kind.Initial) (existed bool, err error) {
	gvk := i.Object.GetObjectKind().GroupVersionKind()
	k, ok := stored.Named(w.Definitions.Builtin(), gvk)
	if !ok {
		return false, fmt.Errorf("no kind serves %s", gvk)
	}
	key := object.KeyOf(k.Info().GroupResource(), i.Object.GetNamespace(), i.Object.GetName())
	if w.Definitions.Defined(key.GroupResource()) {
		return false, nil
	}
	op := func(e *kind.Endpoint, subresource string) *operation {
		req := request.New(ctx, &request.Route{Subresource: subresource}, kind.Entry{Kind: k, Endpoint: e}, nil)
		return &operation{Writer: w, req: req, WriteOptions: request.WriteOptions{Manager: ownManager}, admitted: true}
	}
	for {
		err = nil // of an earlier try: the object may exist now, with nothing to correct
		current, needsReplacement := w.Store.Get(key), false
		switch {
		case current == nil && w.Store.Damage(key) != nil:
			return true, nil
		case current == nil && i.OnlyCorrect:
			return false, nil
		case current == nil:
			err = op(k.Info().Endpoint(gvk.GroupVersion()), "").createInitial(key, i.Object.DeepCopyObject().(kind.Object))
		case i.Correct != nil:
			needsReplacement, err = op(&k.Info().Endpoints[0], i.Subresource).correct(current, i)
		}
		// Retry after another server of the store has committed, or after an object that must be replaced was deleted.
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) && (err != nil || !needsReplacement) {
			return current != nil, err
		}
	}
}

// Withdraw deletes an object that the server no longer should have, without plugins, if obsolete returns true for its
// stored state. i.Object has its kind and name.
func (w *Writer) Withdraw(ctx context.Context, i kind.Initial, obsolete func(stored kind.Object) bool) error {
	i.OnlyCorrect, i.NeedsReplacement = true, obsolete
	i.Correct = func(kind.Object) bool { return false }
	_, err := w.Ensure(ctx, i)
	return err
}

// createInitial creates an object of which it takes ownership. It retains the UID if the object has one.
func (op *operation) createInitial(key object.Key, initial kind.Object) error {
	k, form := op.req.Kind, object.Form{APIVersion: op.req.Endpoint.APIVersion()}
	var err error
	if op.obj, err = k.Accept(initial, form.APIVersion); err != nil {
		return err
	}
	if op.obj.GetUID() == "" {
		op.obj.SetUID(types.UID(uuid.NewString()))
	}
	op.obj.SetCreationTimestamp(stored.Now())
	op.own()
	k.Prepare(op.obj, nil, "")
	if op.req.Info.Claims {
		if err := op.assign(); err != nil {
			return err
		}
	}
	if err := op.validate(); err != nil {
		return err
	}
	fresh, err := stored.Encode(k, op.obj, form)
	if err != nil {
		return err
	}
	if err := op.commit(store.Change{Key: key, Object: fresh, Expect: store.Absent(), Quota: store.Exempt}, op.obj,
		nil); err != nil {
		return err
	}
	// The server reads most of these objects when it starts.
	op.obj.SetResourceVersion(fresh.Revision.String())
	entries := op.obj.GetManagedFields()
	for i := range entries {
		entries[i].Time = ptr.To(metav1.NewTime(entries[i].Time.Truncate(time.Second))) // as it is encoded
	}
	object.Share(fresh, kind.CodecOf(k), op.obj)
	return nil
}

// correct updates an existing object, or deletes it if an update is impossible (needsReplacement).
func (op *operation) correct(current *object.Object, i kind.Initial) (needsReplacement bool, err error) {
	k := op.req.Kind
	op.current = current
	if op.old, err = stored.Read(k, current); err != nil {
		return false, err
	}
	change := store.Change{Key: current.Key, Expect: store.At(current.Revision), Quota: store.Exempt}
	if i.NeedsReplacement != nil && i.NeedsReplacement(op.old) {
		return true, op.commit(change, nil, op.old)
	}
	op.obj = op.old.DeepCopyObject().(kind.Object)
	if !i.Correct(op.obj) {
		return false, nil
	}
	op.own()
	k.Prepare(op.obj, op.old, i.Subresource)
	if err := op.validate(); err != nil {
		return false, err
	}
	if change.Object, err = stored.Encode(k, op.obj, current.Form()); err != nil {
		return false, err
	}
	return false, op.commit(change, op.obj, op.old)
}
