package server

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store"
)

// bootstrap creates the objects that the server starts with, where they are not there yet.
func (s *Server) bootstrap(ctx context.Context, initial []kind.Object) error {
	for _, obj := range initial {
		if err := s.ensure(ctx, obj.DeepCopyObject().(kind.Object)); err != nil {
			return fmt.Errorf("creating %s %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName(), err)
		}
	}
	return nil
}

// ownManager is the manager of what the server sets itself: Kubernetes' name of it.
const ownManager = "kube-apiserver"

// ensure creates an object, with its kind's defaults and rules, unless it exists. It keeps its uid if it has one.
func (s *Server) ensure(ctx context.Context, asked kind.Object) error {
	gvk := asked.GetObjectKind().GroupVersionKind()
	k, ok := s.kindNamed(gvk)
	if !ok {
		return fmt.Errorf("nothing serves %s", gvk)
	}
	key := object.KeyOf(k.Info().GroupResource(), asked.GetNamespace(), asked.GetName())
	if s.store.Get(key) != nil {
		return nil
	}
	form := object.Form{APIVersion: gvk.GroupVersion().String()}
	body, err := kind.Marshal(form.Format, asked)
	if err != nil {
		return err
	}
	obj, _, err := k.DecodeRequest(form, body, true)
	if err != nil {
		return err
	}
	fillCreate(obj)
	if uid := asked.GetUID(); uid != "" {
		obj.SetUID(uid)
	}
	e := k.Info().Endpoint(gvk.GroupVersion())
	s.owners.of(k, e).Update(e.APIVersion(), "", nil, obj, ownManager)
	k.Prepare(obj, nil, "")
	if err := s.assign(k, obj, nil); err != nil {
		return err
	}
	if err := validateCreate(ctx, k, obj); err != nil {
		return err
	}
	fresh, err := encode(k, obj, form)
	if err != nil {
		return err
	}
	err = s.commit(ctx, k, store.Change{Key: key, Object: fresh, Expect: store.Absent()}, obj, nil)
	if isConflict(err) && s.store.Get(key) != nil { // another server of the same store was faster
		return nil
	}
	return err
}

// kindNamed finds the kind that objects of a group, version and kind are of.
func (s *Server) kindNamed(gvk schema.GroupVersionKind) (kind.Kind, bool) {
	for _, k := range s.kinds.Kinds() {
		if info := k.Info(); info.Kind == gvk.Kind && info.Endpoint(gvk.GroupVersion()) != nil {
			return k, true
		}
	}
	return nil, false
}
