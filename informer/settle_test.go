package informer

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// mute is a source that never answers: the test itself puts in what a reflector would.
type mute struct{ client.Source }

func (mute) List(ctx context.Context, _ schema.GroupVersionResource, _ client.Options) (client.List, error) {
	<-ctx.Done()
	return client.List{}, ctx.Err()
}

// handFed is an informer whose FIFO a test fills. Revision 13 of an object cannot be read, and "b" is read as "other".
type handFed struct{ *Informer[*corev1.Pod] }

func newHandFed(lazy bool) handFed {
	return handFed{New[*corev1.Pod](mute{}, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Options[*corev1.Pod]{
		Lazy: lazy, Log: quietly(),
		Decode: func(_ object.Codec, o *object.Object) (*corev1.Pod, error) {
			if o.Revision == 13 {
				return nil, errors.New("unlucky")
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: o.Key.Name(), UID: o.UID, ResourceVersion: o.Revision.String()}}
			if pod.Name == "b" {
				pod.Name = "other"
			}
			return pod, nil
		}})}
}

// state is an undecoded state of an object.
func (h handFed) state(name string, uid types.UID, at object.Revision) *state[*corev1.Pod] {
	o := object.New(object.Header{Key: object.KeyOf(schema.GroupResource{Resource: "pods"}, "", name), UID: uid}, nil, object.Encoding{})
	o.Revision = at
	return h.reader.state(nil, o)
}

// event puts in what a watch tells.
func (h handFed) event(t DeltaType, name string, uid types.UID, at object.Revision) {
	h.fifo.add([]delta[*corev1.Pod]{{Type: t, state: h.state(name, uid, at)}}, at)
}

// pop brings what was put in into the cache.
func (h handFed) pop() { h.fifo.pop(h.process) }

func TestObjectThatAListLacksWhileItsLastChangeWaitsIsDecodedOnce(t *testing.T) {
	t.Parallel()
	h := newHandFed(false)
	h.event(Added, "a", "1", 10)
	h.fifo.replace(nil, 20)
	h.pop()
	if h.indexer.Len() != 0 || h.Unreadable() != 0 {
		t.Errorf("%d objects are cached, %d could not be read", h.indexer.Len(), h.Unreadable())
	}
	h.event(Added, "a", "1", 13)
	h.fifo.replace(nil, 30)
	h.pop()
	if h.indexer.Len() != 0 || h.Unreadable() != 1 {
		t.Errorf("%d objects are cached, %d could not be read", h.indexer.Len(), h.Unreadable())
	}
}
