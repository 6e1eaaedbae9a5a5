package webhook

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
func (s *subject) set(text []byte) error {
	if err := s.Replace(text, false); err != nil {
		return apierrors.NewInternalError(err)
	}
	s.json[0] = nil
	return s.Update()
}
