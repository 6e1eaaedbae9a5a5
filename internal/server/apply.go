package server

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
)

// apply serves a server-side apply (KEP-555): it merges the document into the object, or creates the object,
// and makes the manager an owner of the document's fields.
func (s *Server) apply(c *call, o writeOptions, body []byte) error {
	document, twice, err := readDocument(body)
	if err != nil {
		return err
	}
	o.owned = true
	next := func(live kind.Object) (kind.Object, error) {
		kept := takeInitializers(live)
		obj, err := s.merged(c, o, live, document, body)
		if err != nil {
			return nil, err
		}
		return withInitializers(obj, kept), c.oneOfEach(o, twice)
	}
	for try := 0; ; try++ {
		if c.sub == nil && s.store.Get(c.key()) == nil {
			err := s.createByApply(c, o, next)
			if !apierrors.IsAlreadyExists(err) || try >= writeTries {
				return err
			}
		}
		w, err := s.write(c, o, func(current kind.Object) (kind.Object, error) {
			return next(current.DeepCopyObject().(kind.Object))
		})
		if err == nil {
			return s.answerWritten(c, w)
		}
		if !apierrors.IsNotFound(err) || c.sub != nil || try >= writeTries {
			return err
		}
	}
}

// createByApply creates the object that an applied document describes.
func (s *Server) createByApply(c *call, o writeOptions, next func(kind.Object) (kind.Object, error)) error {
	if err := s.crds.refuses(c.stored(), "create"); err != nil {
		return err
	}
	obj, err := next(nil)
	if err != nil {
		return err
	}
	if uid := obj.GetUID(); uid != "" {
		return apierrors.NewConflict(c.resource(), c.name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	if err := s.mayCreate(c); err != nil {
		return err
	}
	obj.SetResourceVersion("")
	return s.createObject(c, o, obj)
}

// mayCreate authorizes a user who may update or patch the object to create it.
func (s *Server) mayCreate(c *call) error {
	create := *c.route
	create.verb = "create"
	return s.authorize(c.context(), create, c.user)
}

// merged applies a document to an object; live is nil if there is none.
func (s *Server) merged(c *call, o writeOptions, live kind.Object, document *unstructured.Unstructured,
	text []byte) (kind.Object, error) {
	c.spans.at(stagePatch)
	out, err := s.owners.of(c.kind, c.endpoint).
		Apply(c.endpoint.APIVersion(), c.subresource, live, document.DeepCopy(), text, o.manager, o.force)
	if err != nil {
		return nil, applyError(err)
	}
	u, isMap := out.(*unstructured.Unstructured)
	if !isMap || out == live {
		return out.(kind.Object), nil // at most the ownership changed
	}
	obj, err := c.receivedMerged(u)
	if err != nil {
		return nil, applyError(fmt.Errorf("failed to convert new object (%s/%s; %s) to proper version: %w", c.namespace,
			c.name, c.gvk(), err))
	}
	return obj, c.matchURL(obj)
}

// receivedMerged converts the result of an apply, with defaults, to the version that the kind's rules work
// on.
func (c *call) receivedMerged(u *unstructured.Unstructured) (kind.Object, error) {
	if r, ok := c.kind.(kind.Custom); ok {
		return r.ReceiveMerged(u.DeepCopy()) // shares parts with the stored object
	}
	data, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	obj, _, err := c.received(object.Form{APIVersion: c.endpoint.APIVersion()}, data, true)
	return obj, err
}

// mergedView applies a document to what a subresource shows.
func (s *Server) mergedView(c *call, o writeOptions, view kind.Object, document *unstructured.Unstructured,
	text []byte) (runtime.Object, error) {
	out, err := s.owners.ofView(c.sub).
		Apply(c.sub.Kind.GroupVersion().String(), c.subresource, view, document.DeepCopy(), text, o.manager, o.force)
	if err != nil {
		return nil, applyError(err)
	}
	u, isMap := out.(*unstructured.Unstructured)
	if !isMap {
		return out, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, c.sub.New()); err != nil {
		return nil, applyError(err)
	}
	data, err := json.Marshal(u.Object) // the conversion truncates a number that is too large; decoding JSON refuses it
	if err != nil {
		return nil, err
	}
	obj := c.sub.New()
	if err := kind.Unmarshal(object.JSON, data, obj); err != nil {
		return nil, applyError(err)
	}
	return obj, nil
}

// applyError returns a Status as it is. Other errors, such as a document that does not fit the schema, are a
// 500 without a reason, as in Kubernetes.
func applyError(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return internalText(err.Error())
}

// readDocument parses an applied document, which is YAML. Most clients send JSON, which is parsed faster.
// twice names its duplicate fields.
func readDocument(body []byte) (document *unstructured.Unstructured, twice error, err error) {
	var content map[string]any
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		if found, err := kjson.UnmarshalStrict(body, &content); err == nil && len(found) == 0 {
			return &unstructured.Unstructured{Object: content}, nil, nil
		}
	}
	content = map[string]any{}
	if err := utilyaml.Unmarshal(body, &content); err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	return &unstructured.Unstructured{Object: content}, utilyaml.UnmarshalStrict(body, &map[string]any{}), nil
}

// oneOfEach rejects a document with duplicate fields, warns about them, or ignores them.
func (c *call) oneOfEach(o writeOptions, twice error) error {
	switch {
	case twice == nil:
	case o.strict:
		return apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", twice))
	case o.warn:
		c.warn(twice.Error())
	}
	return nil
}
