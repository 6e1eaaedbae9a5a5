package write

import (
	"errors"
	"net/http"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// errRevisionOfNew is Kubernetes' error. It is not a Status in Kubernetes either: the answer is a 500.
var errRevisionOfNew = errors.New("resourceVersion should not be set on objects to be created")

// Create stores a new object.
func (w *Writer) Create(req *request.Request) (*request.Result, error) {
	if err := w.Definitions.Refuses(req.Stored, req.Verb); err != nil {
		return nil, err
	}
	o, err := req.WriteOptions("")
	if err != nil {
		return nil, err
	}
	op := &operation{Writer: w, req: req, WriteOptions: o}
	body, err := op.decode()
	if err != nil {
		return nil, err
	}
	op.obj = body.(kind.Object)
	if err := op.matchURL(op.obj); err != nil {
		return nil, err
	}
	return op.create()
}

// create stores obj, which a create, an update or an apply has decoded. The operation had no other object before.
func (op *operation) create() (*request.Result, error) {
	req, obj := op.req, op.obj
	// The metadata that only the server sets. Plugins do not see the client's values.
	obj.SetUID("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if kind.HasInitializers(obj) && kind.InitializersOf(obj) == nil { // the field is null
		kind.SetInitializers(obj, nil)
	}
	op.own()
	// The revision of the namespace before the plugin NamespaceLifecycle checks it; 0 if there is none.
	var namespace object.Key
	var checked object.Revision
	if op.Lifecycle && req.Info.Namespaced {
		namespace = object.KeyOf(stored.Namespaces, "", req.Namespace)
		if o := op.Store.Get(namespace); o != nil {
			checked = o.Revision
		}
	}
	if err := op.admit(); err != nil {
		return nil, err
	}
	if obj.GetNamespace() != req.ObjectNamespace || req.Name != "" && obj.GetName() != req.Name {
		if err := op.matchURL(obj); err != nil { // a plugin changed it, or an applied document has no name
			return nil, err
		}
	}
	// The same metadata, whatever plugins set.
	obj.SetUID(types.UID(uuid.NewString()))
	obj.SetCreationTimestamp(stored.Now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	generated := obj.GetName() == ""
	if generated {
		generateName(obj)
	}
	if kind.HasInitializers(obj) {
		tidyInitializers(obj, nil, "")
	}
	req.Kind.Prepare(obj, nil, "")
	if err := op.insert(generated, namespace, checked); err != nil {
		return nil, err
	}
	if op.fresh != nil && op.fresh.Uninitialized() && !op.Uninitialized {
		if err := op.awaitInitializers(); err != nil {
			return nil, err
		}
	}
	return &request.Result{Code: http.StatusCreated, Object: op.fresh, State: op.state}, nil
}

// insert validates and commits a new object. It retries with another generated name, or with other assigned values, if
// another writer committed one of them first. A dry run ends before the commit. namespace is the key of the object's
// namespace, and checked its revision before NamespaceLifecycle admitted the object; the key is empty if there is
// nothing to check.
//
// An object that is created after its namespace was emptied would outlive the namespace, and never be deleted.
// The commit therefore expects the revision of the namespace that NamespaceLifecycle has seen. If the namespace has
// changed since, it is checked again: a plugin may have changed or created it.
func (op *operation) insert(generated bool, namespace object.Key, checked object.Revision) error {
	req, asked := op.req, op.obj
	for names, claims := 0, 0; ; {
		req.Spans.At(stage.Validate)
		err := op.Store.Damage(object.KeyOf(req.Stored, asked.GetNamespace(), asked.GetName()))
		if err == nil && req.Info.Claims { // a lost assignment must not look like a value that the client asked for
			op.obj = asked.DeepCopyObject().(kind.Object)
			err = op.assign()
		}
		if err == nil {
			err = op.validate()
		}
		key := object.KeyOf(req.Stored, op.obj.GetNamespace(), op.obj.GetName())
		if err == nil && op.DryRun {
			existing := op.Store.Get(key)
			if existing == nil {
				op.state = op.obj
				return nil
			}
			err = &store.ConflictError{Key: key, Actual: existing}
		}
		if err == nil {
			if r, invalid := stored.RevisionOf(op.obj); invalid == nil && r != 0 {
				return errRevisionOfNew
			}
			op.obj.SetResourceVersion("")
			err = op.encode()
		}
		var also []store.Change
		if err == nil && namespace != "" {
			stays := store.Change{Key: namespace, Expect: store.Absent(), Unchanged: true}
			now := op.Store.Get(namespace)
			if now != nil {
				stays.Expect = store.At(now.Revision)
			}
			if now == nil || now.Revision != checked {
				err = plugins.NamespaceLifecycle{}.Admit(req.Context(), &admission.Attributes{
					Operation: admission.Create, Resource: req.GVR, Namespace: req.Namespace, Name: op.obj.GetName(),
					Object: op.obj,
				}, op.Reader)
			}
			also = []store.Change{stays}
		}
		if err == nil {
			req.Spans.At(stage.Commit)
			change := store.Change{Key: key, Object: op.fresh, Expect: store.Absent()}
			if err = op.commit(change, op.obj, nil, also...); err == nil {
				err = op.Definitions.Undo(req.Context(), req.Stored, req.Verb, op.fresh)
			}
		}
		if err == nil {
			return nil
		}
		var conflict *store.ConflictError
		switch {
		case !errors.As(err, &conflict):
			return err
		case conflict.Key.GroupResource() != req.Stored:
			if claims++; claims > claimTries {
				return apierrors.NewConflict(req.Resource(), op.obj.GetName(),
					errors.New("other writers have claimed each value that the server assigned; try again"))
			}
		default:
			if names++; !generated || names > generateTries {
				return op.alreadyExists(conflict.Actual)
			}
			asked.SetName("")
			generateName(asked)
		}
	}
}

// generateName makes a name of metadata.generateName, which is cut so that the name is valid as a label.
func generateName(obj kind.Object) {
	const randomLength, maxLength = 5, 63
	prefix := obj.GetGenerateName()
	if prefix == "" {
		return
	}
	obj.SetName(prefix[:min(len(prefix), maxLength-randomLength)] + rand.String(randomLength))
}

// alreadyExists returns the 409 of a create whose name exists. Its message states if the existing object, which may be
// nil, is being deleted.
func (op *operation) alreadyExists(existing *object.Object) error {
	err := apierrors.NewAlreadyExists(op.req.Resource(), op.obj.GetName())
	if existing == nil {
		return err
	}
	if obj, decodeErr := stored.Decode(op.req.Kind, existing); decodeErr == nil && obj.GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}
