package matching

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Replace replaces the new state of a write with a patched one, which it decodes as the server decodes a request, with
// the defaults of its version. With strict, unknown fields of a built-in kind are an error. Now and Before are as they
// were until Update.
func (s *Subject) Replace(text []byte, strict bool) error {
	var t metav1.TypeMeta
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	if t.GroupVersionKind() != s.Kind {
		return fmt.Errorf("the patch changed the kind from %v to %v", s.Kind, t.GroupVersionKind())
	}
	strict = strict && s.Write.ServedKind.Info().Builtin
	if s.View != nil {
		return s.replaceView(text, strict)
	}
	of := kind.In(s.Write.ServedKind, s.Write.ServedKind.Info().Endpoint(s.Version))
	obj, unknown, err := of.DecodeRequest(object.Form{APIVersion: s.Version.String()}, text, !strict)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return runtime.NewStrictDecodingError(asErrors(unknown))
	}
	if !s.Write.ServedKind.Info().Builtin && s.Version != s.Write.Kind.GroupVersion() {
		converted, err := s.Write.ServedKind.Convert(obj, s.Write.Kind.GroupVersion().String())
		if err != nil {
			return err
		}
		obj = converted.(kind.Object)
	}
	return s.overwrite(obj)
}

func (s *Subject) replaceView(text []byte, strict bool) error {
	view := s.View.New()
	if strict {
		unknown, err := kjson.UnmarshalStrict(text, view)
		if err != nil {
			return err
		}
		if len(unknown) > 0 {
			return runtime.NewStrictDecodingError(unknown)
		}
	} else if err := kind.Unmarshal(object.JSON, text, view); err != nil {
		return err
	}
	if s.View.View == nil {
		return s.overwrite(view)
	}
	return s.View.Apply(s.Write.Object, view)
}

func asErrors(texts []string) (errs []error) {
	for _, text := range texts {
		errs = append(errs, fmt.Errorf("%s", text))
	}
	return errs
}

// overwrite overwrites the new state with an object of the same type.
func (s *Subject) overwrite(obj runtime.Object) error {
	if reflect.TypeOf(obj) != reflect.TypeOf(s.Write.Object) {
		return fmt.Errorf("the type changed from %T to %T", s.Write.Object, obj)
	}
	reflect.ValueOf(s.Write.Object).Elem().Set(reflect.ValueOf(obj).Elem())
	return nil
}
