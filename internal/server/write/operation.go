package write

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch/ownership"
	"github.com/bowline-dev/bowline/internal/server/claim"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// operation is a write on its way through the stages. A retry repeats them on the same operation: an update or a patch
// from patch on, a create from validate on, a delete from admit on.
type operation struct {
	*Writer
	req *request.Request
	request.WriteOptions
	// deletion are the options of a delete, for plugins; nil for other operations.
	deletion *metav1.DeleteOptions
	// act states that obj is the body of the create of a subresource, for plugins.
	act bool
	// connects states that obj holds the options of a connection, for plugins.
	connects bool
	// admitted states that the plugins were already called, with the body of an act.
	admitted bool
	// owned states that obj already has its ownership.
	owned bool

	// current is the stored object, and old its state; both are nil for a create. old is shared and not changed.
	current *object.Object
	old     kind.Object
	// obj is the new state; nil for a delete until it is admitted.
	obj kind.Object

	also alongside
	// ranges are the ranges of addresses of the last assignment.
	ranges []claim.Range

	// fresh is the result: the committed object, or current if the operation changed nothing. If it is nil, state is
	// the result: that of a dry run, or the last state of a removed object.
	fresh *object.Object
	state kind.Object
}

var metadataPath = field.NewPath("metadata")

// matchURL checks that an object has the namespace and name of the URL. The object of a create needs no name.
func (op *operation) matchURL(obj metav1.Object) error {
	req := op.req
	if req.Info.Namespaced {
		switch obj.GetNamespace() {
		case req.Namespace:
		case "":
			obj.SetNamespace(req.Namespace)
		default:
			return apierrors.NewBadRequest(
				"the namespace of the provided object does not match the namespace sent on the request")
		}
	} else {
		obj.SetNamespace("") // whatever the body says
	}
	switch {
	case req.Verb == "create":
		return nil
	case obj.GetName() == "":
		return undeterminableName(req)
	case obj.GetName() != req.Name:
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), req.Name))
	}
	return nil
}

// undeterminableName returns the 400 of an object without a name, in a request that names one.
func undeterminableName(req *request.Request) error {
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the name of the object (%s based on URL) was undeterminable: name must be provided", req.Name))
}

// own is the stage that records which manager set which field (metadata.managedFields): the request's manager becomes
// the owner of the fields in which obj differs from old.
func (op *operation) own() {
	req := op.req
	req.Spans.At(stage.Own)
	if op.owned {
		return
	}
	for _, o := range [...]kind.Object{op.obj, op.old} { // initializers have no owners
		if o != nil && kind.HasInitializers(o) {
			defer kind.WithoutInitializers(o)()
		}
	}
	op.owners.of(req.Kind, req.Endpoint).Update(req.Endpoint.APIVersion(), req.Subresource, op.old, op.obj, op.Manager)
}

// admit is the stage that lets the plugins change obj. Ownership that they leave unparsable is restored.
func (op *operation) admit() error {
	if op.admitted {
		return nil
	}
	op.req.Spans.At(stage.Admit)
	before := snapshotOwnership(op.obj)
	if err := op.callPlugins("admit", op.attributes()); err != nil {
		return err
	}
	if before.matches(op.obj) {
		return nil
	}
	if err := ownership.ValidateEntries(op.obj.GetManagedFields()); err != nil {
		before.restore(op.obj)
		op.req.Warn(".metadata.managedFields was in an invalid state after admission; this could be caused by an " +
			"outdated mutating admission controller; please fix your requests: " + err.Error())
	}
	return nil
}

// attributes returns the operation as plugins see it.
func (op *operation) attributes() *admission.Attributes {
	req := op.req
	a := &admission.Attributes{
		Operation: admission.Update, Resource: req.GVR, Kind: req.GVK, ServedKind: req.Kind,
		Subresource: req.Subresource, Namespace: req.ObjectNamespace, Name: req.Name, Object: op.obj, Old: op.old,
		User: req.User.Name, UserUID: req.User.UID, Groups: req.User.Groups, Extra: req.User.Extra, DryRun: op.DryRun,
		Warn:         req.Warn,
		FieldManager: op.AskedManager, FieldValidation: op.AskedValidation,
		Rights: req, Authorizer: (*rights)(op.Writer), Provision: (*provider)(op).provision,
	}
	switch {
	case op.deletion != nil:
		a.Operation, a.Deletion = admission.Delete, op.deletion
	case op.act:
		a.Operation, a.Kind = admission.Create, req.Sub.Kind
	case op.connects:
		a.Operation, a.Kind = admission.Connect, req.Sub.Kind
	case op.old == nil:
		a.Operation, a.Name = admission.Create, op.obj.GetName()
	}
	return a
}

// callPlugins calls Admit or Validate, which step names, of all plugins, and records how long they take.
func (op *operation) callPlugins(step string, a *admission.Attributes) (err error) {
	start := time.Now()
	if step == "admit" {
		err = op.Admission.Admit(op.req.Context(), a)
	} else {
		err = op.Admission.Validate(op.req.Context(), a)
	}
	op.Observe(step, string(a.Operation), start, err)
	return err
}

// assign lets a kind with claims choose the values that obj leaves to the server.
func (op *operation) assign() error {
	k := op.req.Kind
	var unreadable error
	ranges := func() (prefixes []netip.Prefix) {
		op.ranges, unreadable = op.claims.Ranges(op.req.Context())
		for _, r := range op.ranges {
			prefixes = append(prefixes, r.Prefix)
		}
		return prefixes
	}
	errs, err := k.Assign(op.obj, op.old, kind.Values{Taken: op.claims.Taken, Ranges: ranges, DryRun: op.DryRun})
	switch {
	case unreadable != nil:
		return unreadable
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	return status.Invalid(k, op.obj.GetName(), errs)
}

// validate is the stage in which the kind's rules and then the plugins reject obj, as it would be stored.
func (op *operation) validate() error {
	req, k, info, obj, old := op.req, op.req.Kind, op.req.Info, op.obj, op.old
	req.Spans.At(stage.Validate)
	ctx := warning.WithWarningRecorder(req.Context(), req)
	meta := obj
	if !info.Builtin {
		meta = withoutFieldSets(obj)
	}
	errs := validateIn(op)
	switch {
	case old == nil:
		name := validation.NameIsDNSSubdomain
		if info.ValidName != nil {
			name = info.ValidName
		}
		rules := k.Validate(ctx, obj, nil, "")
		if !info.OwnMetadata || len(rules) == 0 {
			errs = append(errs, validation.ValidateObjectMetaAccessor(meta, info.Namespaced, name, metadataPath)...)
		}
		errs = append(errs, rules...)
	default:
		invalid := validation.ValidateObjectMetaAccessorUpdate(meta, old, metadataPath)
		for _, msg := range content.IsPathSegmentName(obj.GetName()) {
			invalid = append(invalid, field.Invalid(metadataPath.Child("name"), obj.GetName(), msg))
		}
		// Kubernetes checks the metadata twice, and clients see each cause twice
		errs = slices.Concat(invalid, errs, invalid)
		if req.Subresource == "" && kind.HasInitializers(old) {
			old = nil // initializers may change fields that are immutable later
		}
		errs = append(errs, k.Validate(ctx, obj, old, req.Subresource)...)
	}
	if err := req.Context().Err(); err != nil { // the result of interrupted rules is incomplete
		return err
	}
	if len(errs) == 0 {
		if unread := checkParams(op); unread != nil {
			errs = append(errs, unread)
		}
	}
	if len(errs) > 0 {
		gk := status.Qualified(k)
		if !info.Builtin { // the body of a custom resource may name another kind
			gk = obj.GetObjectKind().GroupVersionKind().GroupKind()
		}
		return kind.NewInvalid(gk, obj.GetName(), errs)
	}
	if op.old == nil { // those of an update are only sent if it is committed, those of a create even if the name exists
		for _, w := range k.Warnings(obj, nil, req.Subresource) {
			req.Warn(w)
		}
	}
	if op.admitted {
		return nil
	}
	a := op.attributes()
	op.also = alongside{op: op}
	a.Also = op.also.add
	return op.callPlugins("validate", a)
}

// validateIn applies the rules of the kind that depend on the labels of the object's namespace.
func validateIn(op *operation) field.ErrorList {
	if op.req.Info.ValidateIn == nil {
		return nil
	}
	return op.req.Info.ValidateIn(op.obj, op.old, op.req.Subresource, func() (map[string]string, error) {
		name := op.obj.GetNamespace()
		namespace := op.Store.Get(object.KeyOf(stored.Namespaces, "", name))
		if namespace == nil {
			return nil, stored.Absent(op.Store, stored.Namespaces, object.KeyOf(stored.Namespaces, "", name))
		}
		return namespace.Labels, nil
	})
}

// encode is the stage that makes fresh, the object to commit, of obj. If that equals current except for its revision,
// fresh is current. It differs if current is stored in another version, or without defaults that obj has.
func (op *operation) encode() error {
	req, current := op.req, op.current
	req.Spans.At(stage.Encode)
	fresh, err := stored.Encode(req.Kind, op.obj, req.Form())
	if err != nil {
		return err
	}
	limit := request.MaxBody
	if current != nil {
		was, form := current.Stored(), fresh.Form()
		limit = max(limit, len(was.Bytes()))
		if was.Form != form && was.Form.APIVersion == form.APIVersion {
			if was, err = current.Encoding(req.Codec(), form); err != nil {
				return err
			}
		}
		if was.Form == form && was.EqualExceptRevision(fresh.Stored()) {
			op.fresh = current
			return nil
		}
	}
	// A larger object could not be sent back in a request. Kubernetes answers the same when etcd's limit is exceeded,
	// which is half of this one.
	if size := len(fresh.Stored().Bytes()); size > limit {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the object would have %d bytes: limit is %d", size,
			request.MaxBody))
	}
	if err, ok := tooLarge(checkStored(fresh, current)); ok {
		return err
	}
	op.fresh = fresh
	return nil
}

// checkStored returns an error for an object that has too many values to be sent back in a request, unless it already
// had too many.
func checkStored(fresh, current *object.Object) error {
	after := fresh.Stored()
	if after.Form.Format != object.JSON {
		return nil
	}
	err := kind.CheckJSON(after.Bytes())
	if err == nil || current == nil {
		return err
	}
	if before := current.Stored(); before.Form.Format == object.JSON && kind.CheckJSON(before.Bytes()) != nil {
		return nil
	}
	return err
}

// commit is the last stage: it writes a change of the object in one transaction with the claims that obj has and old
// had not, or the reverse, and with other changes. obj is nil for a removal and old for a create; both are nil if the
// claims do not change.
func (op *operation) commit(change store.Change, obj, old kind.Object, also ...store.Change) error {
	ctx, k := op.req.Context(), op.req.Kind
	if err := ctx.Err(); err != nil {
		return err
	}
	change.Quota = max(change.Quota, op.quotaClass())
	changes := append(also, change)
	if op.req.Info.Claims {
		claims, err := op.claims.Changes(k, obj, old, op.ranges)
		if err != nil {
			return err
		}
		changes = append(changes, claims...)
	}
	// last: a conflict of the write itself takes precedence
	changes = append(changes, op.also.changesBeside(change.Key)...)
	_, err := op.Store.Commit(ctx, changes...)
	if op.req.Info.Lifetime > 0 && change.Object != nil {
		op.Expiry.Schedule(op.req.Stored, change.Object, err)
	}
	if err == nil && op.req.Stored == stored.Definitions {
		err = op.Definitions.AfterCommit(ctx, op.current, change.Object)
	}
	return err
}

// quotaClass returns how the operation is treated while the store is full. Clients must be able to make room, and
// controllers to record what they have done; heartbeats must not stop.
func (op *operation) quotaClass() store.QuotaClass {
	switch {
	case op.deletion != nil:
		return store.Exempt
	case op.req.Subresource == "status", op.req.Info.Heartbeat && op.old != nil,
		op.old != nil && op.old.GetDeletionTimestamp() != nil:
		return store.Reserved
	}
	return store.Ordinary
}

// finish removes current, which nothing holds any longer, together with other changes. change may have a Last state.
func (op *operation) finish(change store.Change, also ...store.Change) error {
	change.Key, change.Expect, change.Quota = op.current.Key, store.At(op.current.Revision), store.Exempt
	op.also.changes = nil // a removal charges no quota
	var old kind.Object
	if op.req.Info.Claims {
		var err error
		if old, err = stored.Decode(op.req.Kind, op.current); err != nil {
			return err
		}
	}
	retain := op.req.Stored == kind.IPAddresses && op.req.Info.Builtin
	if retain {
		more, err := op.claims.Retain(op.req.Context(), change.Key, op.current)
		if err != nil {
			return err
		}
		also = append(also, more...)
	}
	if err := op.commit(change, nil, old, also...); err != nil {
		return err
	}
	if retain {
		op.restoreAddress(op.req.Context(), change.Key)
	}
	op.obj.SetResourceVersion(op.current.Revision.String())
	op.state = op.obj
	return nil
}
