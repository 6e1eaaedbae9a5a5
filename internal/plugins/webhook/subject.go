package webhook

import (
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// subject is the written object as the webhook receives it: in a version or, for a subresource with its own
// kind, as the view (a Scale) or the request body (an Eviction).
type subject struct {
	a   *admission.Attributes
	gv  schema.GroupVersion // of the resource
	sub *kind.Subresource   // nil for the object itself

	kind     schema.GroupVersionKind
	now, old runtime.Object // nil if the write has none
	json     [2][]byte      // now and old as JSON, encoded on first use
}

// newSubject converts the objects of a write to a version.
func newSubject(a *admission.Attributes, gv schema.GroupVersion) (*subject, error) {
	s := &subject{a: a, gv: gv, kind: gv.WithKind(a.Kind.Kind)}
	if sub := a.ServedKind.Info().Subresource(a.Subresource); sub != nil &&
		(sub.View != nil || sub.New != nil && sub.Kind == a.Kind) {
		s.sub, s.kind = sub, sub.Kind
	}
	var err error
	if s.now, err = s.view(a.Object); err != nil {
		return nil, err
	}
	s.old, err = s.view(a.Old)
	return s, err
}

// view returns an object in the version of the subject, or its view.
func (s *subject) view(obj kind.Object) (runtime.Object, error) {
	if obj == nil {
		return nil, nil
	}
	var shown runtime.Object
	var err error
	switch {
	case s.sub == nil:
		shown, err = s.a.ServedKind.Convert(obj, s.gv.String())
	case s.sub.View == nil:
		shown = obj
	default:
		shown, err = s.sub.View(obj)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return shown, nil
}

// encode returns the new and the old state as JSON, each nil if the write has none.
func (s *subject) encode() (now, old []byte, err error) {
	for i, obj := range []runtime.Object{s.now, s.old} {
		if obj == nil || s.json[i] != nil {
			continue
		}
		if s.json[i], err = kind.Marshal(object.JSON, obj); err != nil {
			return nil, nil, apierrors.NewInternalError(err)
		}
	}
	return s.json[0], s.json[1], nil
}

// set replaces the new state with a patched one, after applying the defaults of its version.
func (s *subject) set(text []byte) (err error) {
	if err = s.checkKind(text); err == nil && s.sub != nil {
		err = s.setView(text)
	} else if err == nil {
		err = s.setObject(text)
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if s.now, err = s.view(s.a.Object); err != nil {
		return err
	}
	s.json[0] = nil
	return nil
}

// checkKind checks that the patch did not change the kind of the object.
func (s *subject) checkKind(text []byte) error {
	var t metav1.TypeMeta
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	if t.GroupVersionKind() != s.kind {
		return fmt.Errorf("the patch changed the kind from %v to %v", s.kind, t.GroupVersionKind())
	}
	return nil
}

func (s *subject) setView(text []byte) error {
	view := s.sub.New()
	if err := kind.Unmarshal(object.JSON, text, view); err != nil {
		return err
	}
	if s.sub.View == nil {
		return s.replace(view)
	}
	return s.sub.Apply(s.a.Object, view)
}

// setObject decodes the JSON as the server decodes a request, and converts it to the hub version.
func (s *subject) setObject(text []byte) error {
	of := kind.In(s.a.ServedKind, s.a.ServedKind.Info().Endpoint(s.gv))
	obj, _, err := of.DecodeRequest(object.Form{APIVersion: s.gv.String()}, text, true)
	if err != nil {
		return err
	}
	if !s.a.ServedKind.Info().Builtin && s.gv != s.a.Kind.GroupVersion() {
		converted, err := s.a.ServedKind.Convert(obj, s.a.Kind.GroupVersion().String())
		if err != nil {
			return err
		}
		obj = converted.(kind.Object)
	}
	return s.replace(obj)
}

// replace overwrites the new state with an object of the same type.
func (s *subject) replace(obj runtime.Object) error {
	if reflect.TypeOf(obj) != reflect.TypeOf(s.a.Object) {
		return fmt.Errorf("the type changed from %T to %T", s.a.Object, obj)
	}
	reflect.ValueOf(s.a.Object).Elem().Set(reflect.ValueOf(obj).Elem())
	return nil
}

// requestKind returns the kind of the request: that of its version, or of its subresource.
func (s *subject) requestKind() schema.GroupVersionKind {
	if s.sub != nil {
		return s.sub.Kind
	}
	return s.a.Kind
}

// options returns the options of the write in the form that webhooks receive.
func (s *subject) options() runtime.Object {
	var dryRun []string
	if s.a.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	of := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind} }
	switch s.a.Operation {
	case admission.Create:
		return &metav1.CreateOptions{
			TypeMeta: of("CreateOptions"), DryRun: dryRun, FieldManager: s.a.FieldManager,
			FieldValidation: s.a.FieldValidation,
		}
	case admission.Update:
		return &metav1.UpdateOptions{
			TypeMeta: of("UpdateOptions"), DryRun: dryRun, FieldManager: s.a.FieldManager,
			FieldValidation: s.a.FieldValidation,
		}
	}
	options := &metav1.DeleteOptions{}
	if s.a.Deletion != nil {
		options = s.a.Deletion.DeepCopy()
	}
	options.TypeMeta = of("DeleteOptions")
	return options
}
