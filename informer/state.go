package informer

import (
	"errors"
	"maps"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// state is one state of one object on its way through an informer, and in its cache. It is made once, and all parts share
// it. All but its places is immutable.
type state[T client.Object] struct {
	key      Key
	revision object.Revision
	// obj is the object; nil before it is decoded, and in a lazy informer, where late is set.
	obj  T
	late *late[T]
	// places are where indexes have it. They belong to the indexer.
	places []place[T]
}

// read is the object, which is shared. Only a lazy informer's can fail.
func (s *state[T]) read() (T, error) {
	if s.late == nil {
		return s.obj, nil
	}
	return s.late.read()
}

// shown is what readers share now: the object, or nil when a lazy informer keeps it undecoded.
func (s *state[T]) shown() (obj T, ok bool) {
	if s.late == nil {
		return s.obj, true
	}
	if kept := s.late.kept.Load(); kept != nil {
		return kept.obj, true
	}
	return obj, false
}

// older says whether a state is from before another. A revision of 0 is unknown.
func (s *state[T]) older(than *state[T]) bool {
	return s.revision < than.revision && s.revision > 0
}

func (s *state[T]) uid() types.UID {
	if s.late == nil {
		return s.obj.GetUID()
	}
	return s.late.raw.UID
}

func (s *state[T]) labels() map[string]string {
	if s.late == nil {
		return s.obj.GetLabels()
	}
	return s.late.raw.Labels
}

func (s *state[T]) head() Head {
	head := Head{Key: s.key, UID: s.uid(), Revision: s.revision, Labels: s.labels()}
	if s.late != nil {
		head.Owners = s.late.raw.Owners
		return head
	}
	for _, owner := range s.obj.GetOwnerReferences() {
		head.Owners = append(head.Owners, owner.UID)
	}
	return head
}

// trace is a state that has no more of another than its name, UID and revision, in memory of its own. Reading it is an error.
func (s *state[T]) trace(err error) *state[T] {
	raw := &object.Object{Header: object.Header{UID: types.UID(strings.Clone(string(s.uid())))}, Revision: s.revision}
	l := &late[T]{raw: raw}
	l.kept.Store(&kept[T]{err: err})
	key := Key{Namespace: strings.Clone(s.key.Namespace), Name: strings.Clone(s.key.Name)}
	return &state[T]{key: key, revision: s.revision, late: l}
}

var errTrace = errors.New("only its name, UID and revision are kept")

// bare is an object of which nothing but the head can be read.
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
