package client

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/message"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// readyReader decodes list items into Go objects as they arrive, so that their bytes need not be retained and
// neighbors share equal parts. It is not safe for concurrent use.
type readyReader struct {
	resource schema.GroupResource
	codec    *wire.Codec
	make     func() Object
	reader   *message.Reader
}

// newReadyReader returns nil if make is nil.
func newReadyReader(resource schema.GroupResource, codec *wire.Codec, make func() Object) *readyReader {
	if make == nil {
		return nil
	}
	return &readyReader{resource: resource, codec: codec, make: make, reader: message.NewReader()}
}

// read decodes a message of the given kind and appends the object to list. It returns false if it cannot.
func (r *readyReader) read(kind schema.GroupVersionKind, message []byte, list *List) bool {
	obj := r.make()
	reads, ok := obj.(wire.Unmarshaler)
	if !ok || !wire.Readable(obj, kind.Kind) || r.reader.Read(message, reads) != nil {
		return false
	}
	revision, err := object.ParseRevision(obj.GetResourceVersion())
	if err != nil || obj.GetName() == "" {
		return false
	}
	wire.SetType(obj, kind.GroupVersion().String())
	header := object.Header{Key: object.KeyOf(r.resource, obj.GetNamespace(), obj.GetName()), UID: obj.GetUID(),
		Labels: obj.GetLabels()}
	for _, owner := range obj.GetOwnerReferences() {
		header.Owners = append(header.Owners, owner.UID)
	}
	list.Items = append(list.Items, object.Ready(header, revision, r.codec, obj))
	return true
}
