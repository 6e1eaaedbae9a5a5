package server

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// bootstrap creates the initial objects that do not exist, and corrects the others.
func (s *Server) bootstrap(ctx context.Context, initial []kind.Initial) error {
	for _, i := range initial {
		name := i.Object.GetObjectKind().GroupVersionKind().Kind + " " + i.Object.GetName()
		there, err := s.ensure(ctx, i)
		switch {
		case err == nil:
		case ctx.Err() == nil && (there || apierrors.IsInvalid(err)):
			// An object of a user may conflict, such as a Service with the same address, or the disk may be
			// full. A server without the object, or with its old state, is better than none.
			s.log.Warn("an object that the server should have is missing or not up to date", "object", name, "error",
				err)
		default:
			return fmt.Errorf("creating %s: %w", name, err)
		}
	}
	return nil
}

// ownManager is the field manager of the server's own writes, as in Kubernetes.
const ownManager = "kube-apiserver"

// ensure creates an object, with its kind's defaults and rules, or corrects the existing one.
func (s *Server) ensure(ctx context.Context, i kind.Initial) (there bool, err error) {
	gvk := i.Object.GetObjectKind().GroupVersionKind()
	k, ok := kindIn(s.crds.builtin, gvk)
	if !ok {
		return false, fmt.Errorf("nothing serves %s", gvk)
	}
	key := object.KeyOf(k.Info().GroupResource(), i.Object.GetNamespace(), i.Object.GetName())
	if s.crds.served(key.GroupResource()) != nil { // a definition serves the resource, with its own objects
		return false, nil
	}
	for {
		current, unfit := s.store.Get(key), false
		switch {
		case current == nil && s.store.Damage(key) != nil: // damaged: it exists, but cannot be read
			return true, nil
		case current == nil && i.OnlyCorrect:
			return false, nil
		case current == nil:
			err = s.createInitial(ctx, k, key, i.Object.DeepCopyObject().(kind.Object))
		case i.Correct != nil:
			unfit, err = s.correct(ctx, k, current, i)
		}
		// Retry after a commit of another server of the store, or after the deletion of an unfit object.
		if !isConflict(err) && (err != nil || !unfit) {
			return current != nil, err
		}
	}
}

// createInitial creates an object. It retains the UID if the object has one.
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

// correct updates an existing object, or deletes it if an update is impossible (unfit).
func (s *Server) correct(ctx context.Context, k kind.Kind, current *object.Object,
	i kind.Initial) (unfit bool, err error) {
	old, err := read(k, current)
	if err != nil {
		return false, err
	}
	if i.NeedsReplacement != nil && i.NeedsReplacement(old) {
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
	return false, s.commit(ctx, k, store.Change{Key: current.Key, Object: fresh, Expect: store.At(current.Revision)},
		obj, old)
}

// kindNamed returns the kind that has a group, version and name.
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
