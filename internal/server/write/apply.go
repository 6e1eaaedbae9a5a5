package write

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// apply serves a server-side apply (KEP-555): it merges the document into the object, or into the view of a
// subresource, or creates the object, and makes the manager an owner of the document's fields.
func (op *operation) apply(body []byte) (*request.Result, error) {
	req := op.req
	document, duplicates, err := readDocument(body)
	if err != nil {
		return nil, err
	}
	op.owned = true
	a := &applying{operation: op, document: document, text: body, duplicates: duplicates}
	if req.Sub != nil && req.Sub.Apply != nil {
		return op.updateView(a.mergedView)
	}
	next := func(live kind.Object) (kind.Object, error) {
		var initializers *kind.Initializers // the merge library does not know them
		if live != nil && kind.HasInitializers(live) {
			initializers = kind.InitializersOf(live)
			kind.SetInitializers(live, nil)
		}
		obj, err := a.merged(live)
		if err != nil {
			return nil, err
		}
		if initializers != nil {
			kind.SetInitializers(obj, initializers)
		}
		return obj, a.checkDuplicates()
	}
	for try := 0; ; try++ {
		if req.Sub == nil && op.Store.Get(req.Key()) == nil {
			result, err := a.createByApply(next)
			if !apierrors.IsAlreadyExists(err) || try >= writeTries {
				return result, err
			}
		}
		result, err := op.update(func(current kind.Object) (kind.Object, error) {
			return next(current.DeepCopyObject().(kind.Object))
		})
		if !apierrors.IsNotFound(err) || req.Sub != nil || try >= writeTries {
			return result, err
		}
	}
}

// applying is a server-side apply of a document.
type applying struct {
	*operation
	document *unstructured.Unstructured
	text     []byte // of the document
	// duplicates names the document's duplicate fields; nil for none.
	duplicates error
}

// createByApply creates the object that an applied document describes.
func (a *applying) createByApply(next func(live kind.Object) (kind.Object, error)) (*request.Result, error) {
	req := a.req
	if err := a.Definitions.CheckCreate(req.Stored, "create"); err != nil {
		return nil, err
	}
	obj, err := next(nil)
	if err != nil {
		return nil, err
	}
	if uid := obj.GetUID(); uid != "" {
		return nil, apierrors.NewConflict(req.Resource(), req.Name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	if err := req.May(req.Context(), "create"); err != nil {
		return nil, err
	}
	obj.SetResourceVersion("")
	created := &operation{Writer: a.Writer, req: req, WriteOptions: a.WriteOptions, owned: true, obj: obj}
	return created.create()
}

// merged is the stage patch of an apply: it applies the document to an object; live is nil if there is none. Defaults
// are set, and the result converted to the version that the kind's rules work on.
func (a *applying) merged(live kind.Object) (kind.Object, error) {
	req := a.req
	req.Spans.At(stage.Patch)
	out, err := a.owners.of(req.Kind, req.Endpoint).Apply(req.Endpoint.APIVersion(), req.Subresource, live,
		a.document.DeepCopy(), a.text, a.Manager, a.Force)
	if err != nil {
		return nil, applyError(err)
	}
	u, isMap := out.(*unstructured.Unstructured)
	if !isMap || out == live {
		return out.(kind.Object), nil // at most the ownership changed
	}
	var obj kind.Object
	if k, ok := req.Kind.(kind.Custom); ok {
		obj, err = k.ReceiveMerged(u.DeepCopy()) // shares parts with the stored object
	} else {
		var data []byte
		var sent runtime.Object
		form := object.Form{APIVersion: req.Endpoint.APIVersion()}
		if data, err = json.Marshal(u.Object); err == nil {
			sent, _, err = req.Kind.Receive(form, data, true)
		}
		if err == nil {
			req.Spans.At(stage.Convert)
			obj, err = req.Kind.Accept(sent, form.APIVersion)
		}
	}
	if err, ok := tooLarge(err); ok {
		return nil, err
	}
	if err != nil {
		return nil, applyError(fmt.Errorf("failed to convert new object (%s/%s; %s) to proper version: %w",
			req.Namespace, req.Name, req.GVK, err))
	}
	return obj, a.matchURL(obj)
}

// mergedView applies the document to what a subresource shows.
func (a *applying) mergedView(view kind.Object) (runtime.Object, error) {
	sub := a.req.Sub
	out, err := a.owners.ofView(sub).Apply(sub.Kind.GroupVersion().String(), a.req.Subresource, view,
		a.document.DeepCopy(), a.text, a.Manager, a.Force)
	if err != nil {
		return nil, applyError(err)
	}
	u, isMap := out.(*unstructured.Unstructured)
	if !isMap {
		return out, a.checkDuplicates()
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, sub.New()); err != nil {
		return nil, applyError(err)
	}
	data, err := json.Marshal(u.Object) // the conversion truncates a number that is too large; decoding JSON rejects it
	if err != nil {
		return nil, err
	}
	obj := sub.New()
	if err := kind.Unmarshal(object.JSON, data, obj); err != nil {
		return nil, applyError(err)
	}
	return obj, a.checkDuplicates()
}

// applyError returns a Status as it is. Other errors, such as a document that does not fit the schema, are a 500
// without a reason, as in Kubernetes.
func applyError(err error) error {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		return err
	}
	return status.InternalText(err.Error())
}

// readDocument parses an applied document, which is YAML. Most clients send JSON, which is parsed faster. duplicates
// names its duplicate fields.
func readDocument(body []byte) (document *unstructured.Unstructured, duplicates error, err error) {
	var content map[string]any
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		if err, ok := tooLarge(kind.CheckJSON(body)); ok {
			return nil, nil, err
		}
		if found, err := kjson.UnmarshalStrict(body, &content); err == nil && len(found) == 0 {
			return &unstructured.Unstructured{Object: content}, nil, nil
		}
	}
	content = map[string]any{}
	if err := checkYAML(body); err != nil {
		if err, ok := tooLarge(err); ok {
			return nil, nil, err
		}
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	if err := utilyaml.Unmarshal(body, &content); err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	if text, err := json.Marshal(content); err == nil { // otherwise the schema rejects it
		if err, ok := tooLarge(kind.CheckJSON(text)); ok {
			return nil, nil, err
		}
	}
	return &unstructured.Unstructured{Object: content}, utilyaml.UnmarshalStrict(body, &map[string]any{}), nil
}

// checkDuplicates rejects a document with duplicate fields, warns about them, or ignores them, as the options demand.
func (a *applying) checkDuplicates() error {
	switch {
	case a.duplicates == nil:
	case a.Strict:
		return apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", a.duplicates))
	case a.Warn:
		a.req.Warn(a.duplicates.Error())
	}
	return nil
}
