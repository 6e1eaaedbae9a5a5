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
	"github.com/bowline-dev/bowline/object"
)

// subject is what is written, as a webhook is shown it: in a version, and, of a subresource with a kind of its own, what that
// shows (a Scale) or takes (an Eviction).
type subject struct {
	a   *admission.Attributes
	gv  schema.GroupVersion // of the resource
	sub *kind.Subresource   // nil for the object itself

	kind     schema.GroupVersionKind
	now, old runtime.Object // nil where there is none
	json     [2][]byte      // now and old, made when first asked for
}

// newSubject takes the objects of a write to a version.
func newSubject(a *admission.Attributes, gv schema.GroupVersion) (*subject, error) {
	s := &subject{a: a, gv: gv, kind: gv.WithKind(a.Kind.Kind)}
	if sub := a.Of.Info().Subresource(a.Subresource); sub != nil && (sub.View != nil || sub.New != nil && sub.Kind == a.Kind) {
		s.sub, s.kind = sub, sub.Kind
	}
	var err error
	if s.now, err = s.shown(a.Object); err != nil {
		return nil, err
	}
	s.old, err = s.shown(a.Old)
	return s, err
}

// shown is an object in the version, or its view.
func (s *subject) shown(obj kind.Object) (runtime.Object, error) {
	if obj == nil {
		return nil, nil
	}
	var shown runtime.Object
	var err error
	switch {
	case s.sub == nil:
		shown, err = s.a.Of.Convert(obj, s.gv.String())
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

// texts are the new and the old state as JSON; nil for one that is not there.
func (s *subject) texts() (now, old []byte, err error) {
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

// set makes a patched text the new state, with the defaults of its version.
func (s *subject) set(text []byte) (err error) {
	if err = s.remains(text); err == nil && s.sub != nil {
		err = s.setView(text)
	} else if err == nil {
		err = s.setObject(text)
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if s.now, err = s.shown(s.a.Object); err != nil {
		return err
	}
	s.json[0] = nil
	return nil
}

// remains checks that a text is of the kind that was shown.
func (s *subject) remains(text []byte) error {
	var t metav1.TypeMeta
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	if t.GroupVersionKind() != s.kind {
		return fmt.Errorf("a %v was made a %v", s.kind, t.GroupVersionKind())
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

// setObject reads the text like a request, and takes it to the version that the kind's rules work on.
func (s *subject) setObject(text []byte) error {
	of := kind.In(s.a.Of, s.a.Of.Info().Endpoint(s.gv))
	obj, _, err := of.DecodeRequest(object.Form{APIVersion: s.gv.String()}, text, true)
	if err != nil {
		return err
	}
	if _, versioned := s.a.Of.(kind.Versioned); versioned && s.gv != s.a.Kind.GroupVersion() {
		converted, err := s.a.Of.Convert(obj, s.a.Kind.GroupVersion().String())
		if err != nil {
			return err
		}
		obj = converted.(kind.Object)
	}
	return s.replace(obj)
}

// replace makes the new state another one of the same type, in its place.
func (s *subject) replace(obj runtime.Object) error {
	if reflect.TypeOf(obj) != reflect.TypeOf(s.a.Object) {
		return fmt.Errorf("a %T became a %T", s.a.Object, obj)
	}
	reflect.ValueOf(s.a.Object).Elem().Set(reflect.ValueOf(obj).Elem())
	return nil
}

// requested is the kind that the request names: that of its version, or of its subresource.
func (s *subject) requested() schema.GroupVersionKind {
	if s.sub != nil {
		return s.sub.Kind
	}
	return s.a.Kind
}

// options are those of the write, as the webhook is shown them.
func (s *subject) options() runtime.Object {
	var dryRun []string
	if s.a.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	of := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind} }
	switch s.a.Operation {
	case admission.Create:
		return &metav1.CreateOptions{
			TypeMeta: of("CreateOptions"), DryRun: dryRun, FieldManager: s.a.FieldManager, FieldValidation: s.a.FieldValidation,
		}
	case admission.Update:
		return &metav1.UpdateOptions{
			TypeMeta: of("UpdateOptions"), DryRun: dryRun, FieldManager: s.a.FieldManager, FieldValidation: s.a.FieldValidation,
		}
	}
	options := &metav1.DeleteOptions{}
	if s.a.Deletion != nil {
		options = s.a.Deletion.DeepCopy()
	}
	options.TypeMeta = of("DeleteOptions")
	return options
}
