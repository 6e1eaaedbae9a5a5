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
	if err := w.Definitions.CheckCreate(req.Stored, req.Verb); err != nil {
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
	if req.Info.Review {
		return answerReview(op)
	}
	if req.Info.Acts != nil {
		return actOnOther(op)
	}
	return op.create()
}

// create stores obj, which a create, an update or an apply has decoded. The operation had no other object before.
func (op *operation) create() (*request.Result, error) {
	req, obj := op.req, op.obj
	clearSystemMetadata(obj)                                          // plugins do not see the client's values
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
	if err := checkEscalation(op); err != nil {
		return nil, err
	}
	if obj.GetNamespace() != req.ObjectNamespace || req.Name != "" && obj.GetName() != req.Name {
		if err := op.matchURL(obj); err != nil { // a plugin changed it, or an applied document has no name
			return nil, err
		}
	}
	clearSystemMetadata(obj) // whatever plugins set
	obj.SetUID(types.UID(uuid.NewString()))
	obj.SetCreationTimestamp(stored.Now())
	generated := obj.GetName() == ""
	if generated {
		generateName(obj)
	}
	if kind.HasInitializers(obj) {
		tidyInitializers(obj, nil, "")
	}
	if req.Info.EarlyWarnings != nil {
		for _, warning := range req.Info.EarlyWarnings(obj) {
			req.Warn(warning)
		}
	}
	req.Kind.Prepare(obj, nil, "")
	if req.Info.SetAuthor != nil {
		req.Info.SetAuthor(obj, kind.Author{Name: req.User.Name, UID: req.User.UID, Groups: req.User.Groups,
			Extra: req.User.Extra})
	}
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

// clearSystemMetadata clears the metadata that only the server sets.
func clearSystemMetadata(obj kind.Object) {
	obj.SetUID("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
}

// insert validates and commits a new object. It retries with another generated name, or with other assigned values, if
// another writer committed one of them first. namespace is the key of the object's namespace, and checked its revision
// before NamespaceLifecycle admitted the object; the key is empty if there is nothing to check.
func (op *operation) insert(generated bool, namespace object.Key, checked object.Revision) error {
	requested := op.obj
	for names, claims := 0, 0; ; {
		err := op.insertOnce(requested, namespace, checked)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		if conflict.Key.GroupResource() != op.req.Stored {
			if claims++; claims > claimTries {
				return apierrors.NewConflict(op.req.Resource(), op.obj.GetName(),
					errors.New("other writers kept claiming the assigned values or changing the namespace; try again"))
			}
			continue
		}
		if names++; !generated || names > generateTries {
			return op.alreadyExists(conflict.Actual)
		}
		requested.SetName("")
		generateName(requested)
	}
}

// insertOnce takes a new object through the stages from validate to commit; a dry run ends before the commit. The error
// is a *store.ConflictError if an object has the name, or the commit finds another state than expected.
//
// An object that is created after its namespace was emptied would outlive the namespace, and never be deleted.
// The commit therefore expects the revision of the namespace that NamespaceLifecycle has seen. If the namespace has
// changed since, it is checked again: a plugin may have changed or created it.
func (op *operation) insertOnce(requested kind.Object, namespace object.Key, checked object.Revision) error {
	req := op.req
	req.Spans.At(stage.Validate)
	damage := op.Store.Damage(object.KeyOf(req.Stored, requested.GetNamespace(), requested.GetName()))
	if damage != nil {
		return damage
	}
	if req.Info.Claims { // a lost assignment must not look like a value that the client asked for
		op.obj = requested.DeepCopyObject().(kind.Object)
		if err := op.assign(); err != nil {
			return err
		}
	}
	if err := op.validate(); err != nil {
		return err
	}
	key := object.KeyOf(req.Stored, op.obj.GetNamespace(), op.obj.GetName())
	if op.DryRun {
		if existing := op.Store.Get(key); existing != nil {
			return &store.ConflictError{Key: key, Actual: existing}
		}
		op.state = op.obj
		return nil
	}
	if r, invalid := stored.RevisionOf(op.obj); invalid == nil && r != 0 {
		return errRevisionOfNew
	}
	op.obj.SetResourceVersion("")
	if err := op.encode(); err != nil {
		return err
	}
	var also []store.Change
	if namespace != "" {
		expected := store.Change{Key: namespace, Expect: store.Absent(), Unchanged: true}
		current := op.Store.Get(namespace)
		if current != nil {
			expected.Expect = store.At(current.Revision)
		}
		if current == nil || current.Revision != checked {
			if err := (plugins.NamespaceLifecycle{}).Admit(req.Context(), &admission.Attributes{
				Operation: admission.Create, Resource: req.GVR, Namespace: req.Namespace, Name: op.obj.GetName(),
				Object: op.obj,
			}, op.Reader); err != nil {
				return err
			}
		}
		also = []store.Change{expected}
	}
	req.Spans.At(stage.Commit)
	change := store.Change{Key: key, Object: op.fresh, Expect: store.Absent()}
	if err := op.commit(change, op.obj, nil, also...); err != nil {
		return err
	}
	return op.Definitions.RollBackCreate(req.Context(), req.Stored, req.Verb, op.fresh)
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
