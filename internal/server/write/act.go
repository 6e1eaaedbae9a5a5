package write

import (
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// Act serves the create of a subresource: it applies the body, such as a Binding, to the object, or evicts the object.
// The result is a Status, or a TokenRequest with its token. Plugins see the body as an object that is created, and not
// what changes in the target. If the body is not an object (a DeploymentRollback), they see the changed target instead.
func (w *Writer) Act(req *request.Request) (*request.Result, error) {
	o, err := req.WriteOptions("")
	if err != nil {
		return nil, err
	}
	op := &operation{Writer: w, req: req, WriteOptions: o}
	body, err := op.decode()
	if err != nil {
		return nil, err
	}
	if request, ok := body.(*authenticationv1.TokenRequest); ok && req.Sub.Issues {
		return (&tokenRequest{operation: op, asked: request, now: time.Now()}).issue()
	}
	if obj, ok := body.(kind.Object); ok {
		if err := op.matchURL(obj); err != nil {
			return nil, err
		}
		obj.GetObjectKind().SetGroupVersionKind(req.Sub.Kind)
		op.act, op.obj = true, obj
		err := op.admitOnly(func() error {
			if req.Sub.Check == nil {
				return nil
			}
			return req.Sub.Check(req.Name, body)
		})
		if err != nil {
			return nil, err
		}
		op.act, op.admitted, op.obj = false, true, nil
	}
	if req.Sub.Evicts != nil {
		err = op.evict(body)
	} else {
		err = applyAct(op, body)
	}
	if err != nil {
		return nil, err
	}
	result := &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
	if req.Sub.Message != nil {
		result.Message = req.Sub.Message(body)
	}
	return &request.Result{Status: result}, nil
}

// AdmitConnection lets the plugins change and reject the options of a connection to another machine.
func (w *Writer) AdmitConnection(req *request.Request, options kind.Object) error {
	op := &operation{Writer: w, req: req, obj: options, connects: true}
	return op.admitOnly(nil)
}

// applyAct applies the body of an act to the object. An act, such as a binding, does not change the ownership of
// fields.
func applyAct(op *operation, body runtime.Object) error {
	op.owned = true
	_, err := op.update(func(current kind.Object) (kind.Object, error) {
		next := current.DeepCopyObject().(kind.Object)
		return next, op.req.Sub.Apply(next, body)
	})
	return err
}

// actOnOther serves the create of an object that acts on another object (kind.Info.Acts). Plugins see the create of the
// object itself. As in Kubernetes, its uid is ignored, unlike the uid in the body of a write to the subresource.
func actOnOther(op *operation) (*request.Result, error) {
	body, acts := op.obj, op.req.Info.Acts
	body.SetUID("")
	k, served := op.Kinds.Stored(acts.Resource)
	if !served {
		return nil, status.NoResource()
	}
	sub := k.Info().Subresource(acts.Subresource)
	err := op.admitOnly(func() error {
		if sub.Check == nil {
			return nil
		}
		return sub.Check(body.GetName(), body)
	})
	if err != nil {
		return nil, err
	}
	if body.GetName() == "" {
		return nil, apierrors.NewBadRequest("Name parameter required.")
	}
	if name := body.GetName(); len(name) > validation.DNS1123SubdomainMaxLength { // the error would repeat all of it
		return nil, status.NotFound(acts.Resource, name[:validation.DNS1123SubdomainMaxLength]+"...")
	}
	info, hub := k.Info(), &k.Info().Endpoints[0]
	route := *op.req.Route
	route.GVR, route.Name = hub.GroupVersion().WithResource(info.Plural), body.GetName()
	route.Subresource = acts.Subresource
	req := *op.req
	req.Route, req.Kind, req.Info, req.Endpoint = &route, k, info, hub
	req.Stored, req.GVK = info.GroupResource(), hub.GroupVersion().WithKind(info.Kind)
	req.Sub = sub
	on := &operation{Writer: op.Writer, req: &req, WriteOptions: op.WriteOptions, admitted: true}
	if err := applyAct(on, body); err != nil {
		return nil, err
	}
	return &request.Result{Status: &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}}, nil
}

// admitOnly lets the plugins change and reject the body of an act, or reject a delete. check, which may be nil, rejects
// what the plugins have changed.
func (op *operation) admitOnly(check func() error) error {
	a := op.attributes() // one value: Validate sees what Admit has left in it
	op.req.Spans.At(stage.Admit)
	if err := op.callPlugins("admit", a); err != nil {
		return err
	}
	op.req.Spans.At(stage.Validate)
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	return op.callPlugins("validate", a)
}

// evict deletes the object with the options in the body of an eviction, if the object's guards (its
// PodDisruptionBudgets) allow it. The guard whose allowance the eviction reduces is changed in the same commit, which
// conflicts if the guard has changed since it was read. A server without the guards' kind has no guards.
func (op *operation) evict(body runtime.Object) error {
	req, evicts := op.req, op.req.Sub.Evicts
	options, err := evicts.Options(req.Name, body)
	if err != nil {
		return err
	}
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	if op.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	r := &removal{operation: op, options: options}
	_, err = r.remove(req.Key(), func(obj kind.Object) ([]store.Change, error) {
		var guards []kind.Object
		err := op.Reader.List(req.Context(), evicts.Guards, req.Namespace, func(guard kind.Object) bool {
			guards = append(guards, guard)
			return true
		})
		if err != nil {
			return nil, fmt.Errorf("reading the disruption budgets of the object: %w", err)
		}
		guard, err := evicts.Check(obj, guards)
		if err != nil || guard == nil {
			return nil, err
		}
		key := object.KeyOf(evicts.Guards, req.Namespace, guard.GetName())
		k, served := op.Kinds.Stored(evicts.Guards)
		current := op.Store.Get(key)
		revision, err := stored.RevisionOf(guard)
		if err != nil {
			return nil, err
		}
		if !served || current == nil || current.Revision != revision {
			return nil, &store.ConflictError{Key: key, Actual: current}
		}
		fresh, err := stored.Encode(k, guard, current.Form())
		if err != nil {
			return nil, err
		}
		return []store.Change{{Key: key, Object: fresh, Expect: store.At(revision)}}, nil
	})
	return err
}
