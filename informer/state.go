package informer

import (
	"errors"
	"maps"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

// state is one state of an object, shared by all parts of an informer. All fields but positions are immutable.
type state[T client.Object] struct {
	key      Key
	revision object.Revision
	// obj is the object. It is nil while encoded is set: before decoding, and always in a lazy informer.
	obj     T
	encoded *encoded[T]
	// positions are its positions in the indexes. The indexer owns them.
	positions []position[T]
}

// read returns the object, which is shared. It can fail only in a lazy informer.
func (s *state[T]) read() (T, error) {
	if s.encoded == nil {
		return s.obj, nil
	}
	return s.encoded.read()
}

// shown returns the decoded object. ok is false if the object is not decoded.
func (s *state[T]) shown() (obj T, ok bool) {
	if s.encoded == nil {
		return s.obj, true
	}
	if result := s.encoded.result.Load(); result != nil {
		return result.obj, true
	}
	return obj, false
}

// older reports whether a state precedes another. Revision 0 means unknown.
func (s *state[T]) older(other *state[T]) bool {
	return s.revision < other.revision && s.revision > 0
}

func (s *state[T]) uid() types.UID {
	if s.encoded == nil {
		return s.obj.GetUID()
	}
	return s.encoded.raw.UID
}

func (s *state[T]) labels() map[string]string {
	if s.encoded == nil {
		return s.obj.GetLabels()
	}
	return s.encoded.raw.Labels
}

func (s *state[T]) head() Head {
	head := Head{Key: s.key, UID: s.uid(), Revision: s.revision, Labels: s.labels()}
	if s.encoded != nil {
		head.Owners = s.encoded.raw.Owners
		return head
	}
	for _, owner := range s.obj.GetOwnerReferences() {
		head.Owners = append(head.Owners, owner.UID)
	}
	return head
}

// trace returns a state with only the name, UID and revision, in its own memory. Reading it returns err.
func (s *state[T]) trace(err error) *state[T] {
	raw := &object.Object{Header: object.Header{UID: types.UID(strings.Clone(string(s.uid())))}, Revision: s.revision}
	l := &encoded[T]{raw: raw}
	l.result.Store(&decodeResult[T]{err: err})
	key := Key{Namespace: strings.Clone(s.key.Namespace), Name: strings.Clone(s.key.Name)}
	return &state[T]{key: key, revision: s.revision, encoded: l}
}

var errTrace = errors.New("only its name, UID and revision are retained")

// bare returns a new object with only the namespace, name, UID, revision and labels set.
func (s *state[T]) bare() (obj T) {
	kind := reflect.TypeFor[T]()
	if kind.Kind() != reflect.Pointer {
		kind = reflect.TypeFor[*metav1.PartialObjectMetadata]()
	}
	obj = reflect.New(kind.Elem()).Interface().(T)
	obj.SetNamespace(s.key.Namespace)
	obj.SetName(s.key.Name)
	obj.SetUID(s.uid())
	obj.SetResourceVersion(s.revision.String())
	obj.SetLabels(maps.Clone(s.labels()))
	return obj
}
