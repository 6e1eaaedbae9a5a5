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
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// subject is a write as the webhook receives it.
type subject struct {
	*matching.Subject
	json [2][]byte // Now and Before as JSON, encoded on first use
}

// newSubject converts the objects of a write to a version.
func newSubject(a *admission.Attributes, gv schema.GroupVersion) (*subject, error) {
	s, err := matching.NewSubject(a, gv)
	if err != nil {
		return nil, err
	}
	return &subject{Subject: s}, nil
}

// encode returns the new and the old state as JSON, each nil if the write has none.
func (s *subject) encode() (now, old []byte, err error) {
	for i, obj := range []runtime.Object{s.Now, s.Before} {
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
	if err = s.checkKind(text); err == nil && s.View != nil {
		err = s.setView(text)
	} else if err == nil {
		err = s.setObject(text)
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	s.json[0] = nil
	return s.Update()
}

// checkKind checks that the patch did not change the kind of the object.
func (s *subject) checkKind(text []byte) error {
	var t metav1.TypeMeta
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	if t.GroupVersionKind() != s.Kind {
		return fmt.Errorf("the patch changed the kind from %v to %v", s.Kind, t.GroupVersionKind())
	}
	return nil
}

func (s *subject) setView(text []byte) error {
	view := s.View.New()
	if err := kind.Unmarshal(object.JSON, text, view); err != nil {
		return err
	}
	if s.View.View == nil {
		return s.replace(view)
	}
	return s.View.Apply(s.Write.Object, view)
}

// setObject decodes the JSON as the server decodes a request, and converts it to the hub version.
func (s *subject) setObject(text []byte) error {
	of := kind.In(s.Write.ServedKind, s.Write.ServedKind.Info().Endpoint(s.Version))
	obj, _, err := of.DecodeRequest(object.Form{APIVersion: s.Version.String()}, text, true)
	if err != nil {
		return err
	}
	if !s.Write.ServedKind.Info().Builtin && s.Version != s.Write.Kind.GroupVersion() {
		converted, err := s.Write.ServedKind.Convert(obj, s.Write.Kind.GroupVersion().String())
		if err != nil {
			return err
		}
		obj = converted.(kind.Object)
	}
	return s.replace(obj)
}

// replace overwrites the new state with an object of the same type.
func (s *subject) replace(obj runtime.Object) error {
	if reflect.TypeOf(obj) != reflect.TypeOf(s.Write.Object) {
		return fmt.Errorf("the type changed from %T to %T", s.Write.Object, obj)
	}
	reflect.ValueOf(s.Write.Object).Elem().Set(reflect.ValueOf(obj).Elem())
	return nil
}
