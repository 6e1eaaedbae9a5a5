package client

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/message"
	"github.com/bowline-dev/bowline/object"
)

// readyReader reads the items of a list into Go objects as they arrive, so that their bytes need not be kept, and neighbours
// share what they have in common. It is for one goroutine.
type readyReader struct {
	resource schema.GroupResource
	codec    *wireCodec
	make     func() Object
	reader   *message.Reader
}

// newReadyReader is nil where there is nothing to read items into.
func newReadyReader(resource schema.GroupResource, codec *wireCodec, make func() Object) *readyReader {
	if make == nil {
		return nil
	}
	return &readyReader{resource: resource, codec: codec, make: make, reader: message.NewReader()}
}

// read adds the item of a kind that a message is of to a list. It is false for what it can make nothing of.
func (r *readyReader) read(kind schema.GroupVersionKind, message []byte, list *List) bool {
	obj := r.make()
	reads, ok := obj.(unmarshaler)
	if !ok || !readable(obj, kind.Kind) || r.reader.Read(message, reads) != nil {
		return false
	}
	revision, err := object.ParseRevision(obj.GetResourceVersion())
	if err != nil || obj.GetName() == "" {
		return false
	}
	setType(obj, kind.GroupVersion().String())
	header := object.Header{Key: object.KeyOf(r.resource, obj.GetNamespace(), obj.GetName()), UID: obj.GetUID(), Labels: obj.GetLabels()}
	for _, owner := range obj.GetOwnerReferences() {
		header.Owners = append(header.Owners, owner.UID)
	}
	list.Items = append(list.Items, object.Ready(header, revision, r.codec, obj))
	return true
}
