package server

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// mutate lets the plugins change the object. old is nil for a create.
func (s *Server) mutate(c *call, o writeOptions, obj, old kind.Object) error {
	if o.admitted {
		return nil
	}
	c.spans.at(stageAdmit)
	before := seeOwnership(obj)
	if err := s.admit(c.context(), c.attributes(o, obj, old)); err != nil {
		return err
	}
	c.readableOwnership(obj, before)
	return nil
}

// validateAdmission lets the plugins reject the object as it would be stored.
func (s *Server) validateAdmission(c *call, o writeOptions, obj, old kind.Object) error {
	if o.admitted {
		return nil
	}
	return s.validate(c.context(), c.attributes(o, obj, old))
}

// admitAct lets the plugins change and reject the body of an act, which they see as an object that is
// created. They do not see what the act changes in the target. A body that is not an object (a
// DeploymentRollback) is not admitted here; the changed target is.
func (s *Server) admitAct(c *call, o writeOptions, body runtime.Object) (admitted bool, err error) {
	obj, is := body.(kind.Object)
	if !is {
		return false, nil
	}
	if err := c.matchURL(obj); err != nil {
		return false, err
	}
	obj.GetObjectKind().SetGroupVersionKind(c.sub.Kind)
	a := c.attributes(o, obj, nil)
	a.Name, a.Kind = c.name, c.sub.Kind
	c.spans.at(stageAdmit)
	if err := s.admit(c.context(), a); err != nil {
		return false, err
	}
	c.spans.at(stageValidate)
	return true, s.validate(c.context(), a)
}

// admitDelete lets the plugins reject a delete.
func (s *Server) admitDelete(c *call, o *metav1.DeleteOptions, old kind.Object) error {
	a := c.attributes(writeOptions{dryRun: len(o.DryRun) > 0}, nil, old)
	a.Operation, a.Deletion = admission.Delete, o
	c.spans.at(stageAdmit)
	if err := s.admit(c.context(), a); err != nil {
		return err
	}
	c.spans.at(stageValidate)
	return s.validate(c.context(), a)
}

// admit calls Admit of all plugins, and records how long they take.
func (s *Server) admit(ctx context.Context, a *admission.Attributes) error {
	begun := time.Now()
	err := s.admission.Admit(ctx, a)
	s.metrics.admitted("admit", string(a.Operation), begun, err)
	return err
}

// validate calls Validate of all plugins, and records how long they take.
func (s *Server) validate(ctx context.Context, a *admission.Attributes) error {
	begun := time.Now()
	err := s.admission.Validate(ctx, a)
	s.metrics.admitted("validate", string(a.Operation), begun, err)
	return err
}

// attributes returns the request as plugins see it.
func (c *call) attributes(o writeOptions, obj, old kind.Object) *admission.Attributes {
	a := &admission.Attributes{
		Operation: admission.Update, Resource: c.gvr, Kind: c.gvk(), ServedKind: c.kind, Subresource: c.subresource,
		Namespace: c.namespaceOfObject(), Name: c.name, Object: obj, Old: old,
		User: c.user.Name, Groups: c.user.Groups, Extra: c.user.Extra, DryRun: o.dryRun, Warn: c.warn,
		FieldManager: o.asked.manager, FieldValidation: o.asked.validation,
		Rights: c, Authorizer: (*rights)(c.server),
	}
	if old == nil {
		a.Operation, a.Name = admission.Create, obj.GetName()
	}
	return a
}

// reader is the store as plugins see it. Get and List leave out objects that initializers have not finished,
// except that Get returns such a namespace: initializers may create objects in it.
type reader struct{ s *Server }

var _ admission.Reader = reader{}

// Get implements admission.Reader.
func (r reader) Get(_ context.Context, resource schema.GroupResource, namespace, name string) (kind.Object, error) {
	k, served := r.s.kinds.Stored(resource)
	o := r.s.store.Get(object.KeyOf(resource, namespace, name))
	if o == nil {
		if err := r.s.store.Damage(object.KeyOf(resource, namespace, name)); err != nil {
			return nil, wireError(err)
		}
		return nil, nil
	}
	if !served || o.Uninitialized() && resource != namespaces {
		return nil, nil
	}
	return shared(kind.CodecOf(k), o)
}

// List implements admission.Reader.
func (r reader) List(ctx context.Context, resource schema.GroupResource, namespace string,
	yield func(kind.Object) bool) error {
	k, served := r.s.kinds.Stored(resource)
	if !served {
		return nil
	}
	codec := kind.CodecOf(k)
	snapshot, err := r.s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	snapshot.Scan(object.Prefix(resource, namespace), "", func(o *object.Object) bool {
		if o.Uninitialized() {
			return true
		}
		var obj kind.Object
		if obj, err = shared(codec, o); err != nil {
			return false
		}
		return yield(obj)
	})
	return err
}

func shared(codec object.Codec, o *object.Object) (kind.Object, error) {
	obj, err := o.Decoded(codec)
	if err != nil {
		return nil, err
	}
	return obj.(kind.Object), nil
}
