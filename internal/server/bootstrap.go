package server

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// bootstrap creates the objects that the server starts with, where they are not there yet, and corrects those that are.
func (s *Server) bootstrap(ctx context.Context, initial []kind.Initial) error {
	for _, i := range initial {
		name := i.Object.GetObjectKind().GroupVersionKind().Kind + " " + i.Object.GetName()
		there, err := s.ensure(ctx, i)
		switch {
		case err == nil:
		case ctx.Err() == nil && (there || apierrors.IsInvalid(err)):
			// What users made since has no room for it, such as a service that took its address, or the disk is full. They
			// are better served without it, or with its old state, than not at all.
			s.log.Warn("an object that the server should have is missing or not up to date", "object", name, "error", err)
		default:
			return fmt.Errorf("creating %s: %w", name, err)
		}
	}
	return nil
}

// ownManager is the manager of what the server sets itself: Kubernetes' name of it.
const ownManager = "kube-apiserver"

// ensure creates an object, with its kind's defaults and rules, or corrects the one that is there.
func (s *Server) ensure(ctx context.Context, i kind.Initial) (there bool, err error) {
	gvk := i.Object.GetObjectKind().GroupVersionKind()
	k, ok := kindIn(s.crds.builtin, gvk)
	if !ok {
		return false, fmt.Errorf("nothing serves %s", gvk)
	}
	key := object.KeyOf(k.Info().GroupResource(), i.Object.GetNamespace(), i.Object.GetName())
	if s.crds.served(key.GroupResource()) != nil { // a definition's kind stands in its place, with objects of its own
		return false, nil
	}
	for {
		current, unfit := s.store.Get(key), false
		switch {
		case current == nil && s.store.Damage(key) != nil: // it is there, though nobody can read it
			return true, nil
		case current == nil && i.OnlyCorrect:
			return false, nil
		case current == nil:
			err = s.createInitial(ctx, k, key, i.Object.DeepCopyObject().(kind.Object))
		case i.Correct != nil:
			unfit, err = s.correct(ctx, k, current, i)
		}
		if !isConflict(err) && (err != nil || !unfit) { // else another server of the same store was faster, or it is made anew
			return current != nil, err
		}
	}
}

// createInitial creates an object, which keeps its uid if it has one.
func (s *Server) createInitial(ctx context.Context, k kind.Kind, key object.Key, asked kind.Object) error {
	gvk := asked.GetObjectKind().GroupVersionKind()
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
	return s.commit(ctx, k, store.Change{Key: key, Object: fresh, Expect: store.Absent()}, obj, nil)
}

// correct brings an object that is there in line, or deletes it as unfit.
func (s *Server) correct(ctx context.Context, k kind.Kind, current *object.Object, i kind.Initial) (unfit bool, err error) {
	old, err := read(k, current)
	if err != nil {
		return false, err
	}
	if i.Unfit != nil && i.Unfit(old) {
		return true, s.commit(ctx, k, store.Change{Key: current.Key, Expect: store.At(current.Revision)}, nil, old)
	}
	obj := old.DeepCopyObject().(kind.Object)
	if !i.Correct(obj) {
		return false, nil
	}
	e := &k.Info().Endpoints[0]
	s.owners.of(k, e).Update(e.APIVersion(), "", old, obj, ownManager)
	k.Prepare(obj, old, "")
	if err := validateUpdate(ctx, k, obj, old, ""); err != nil {
		return false, err
	}
	fresh, err := encode(k, obj, current.Form())
	if err != nil {
		return false, err
	}
	return false, s.commit(ctx, k, store.Change{Key: current.Key, Object: fresh, Expect: store.At(current.Revision)}, obj, old)
}

// kindNamed finds the kind that objects of a group, version and kind are of.
func (s *Server) kindNamed(gvk schema.GroupVersionKind) (kind.Kind, bool) {
	return kindIn(s.kinds.Kinds(), gvk)
}

func kindIn(kinds []kind.Kind, gvk schema.GroupVersionKind) (kind.Kind, bool) {
	for _, k := range kinds {
		if info := k.Info(); info.Kind == gvk.Kind && info.Endpoint(gvk.GroupVersion()) != nil {
			return k, true
		}
	}
	return nil, false
}
