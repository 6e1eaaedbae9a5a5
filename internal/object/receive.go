package object

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Receiver makes objects from the bytes that another server sent. It parses only the fields of the header;
// malformed bytes in the rest are found by Decode. Neighbors in a list often have equal labels and versions,
// which it shares. A Receiver must not be used concurrently, and is for objects of one resource.
type Receiver struct {
	resource schema.GroupResource
	codec    Codec
	last     struct {
		apiVersion string
		labels     labels
	}
}

// NewReceiver returns a receiver for objects of a resource that codec decodes.
func NewReceiver(resource schema.GroupResource, codec Codec) *Receiver {
	return &Receiver{resource: resource, codec: codec}
}

// metadata holds the fields of a header. Byte slices alias the parsed data.
type metadata struct {
	version         []byte
	namespace, name []byte
	uid, revision   []byte
	owners          []types.UID
	labels          labels
}

// labels holds an object's labels in encoded form and as a map; equal encodings share the map.
type labels struct {
	raw []byte
	set map[string]string
}

var (
	// errNoObject reports data that is not an object.
	errNoObject = errors.New("it has no metadata.name or no metadata.resourceVersion")
	// errTwoRevisions reports ambiguous data, which no encoder writes and readers interpret differently.
	errTwoRevisions = errors.New("its metadata or resourceVersion occurs twice, or under an escaped name")
)

// Receive makes an object from JSON, or from protobuf in its envelope. It takes ownership of data.
func (r *Receiver) Receive(format Format, data []byte) (*Object, error) {
	m := metadata{labels: r.last.labels}
	var err error
	if format == Protobuf {
		err = m.readProtobuf(data)
	} else {
		data, err = m.readJSON(data)
	}
	if err == nil && (len(m.name) == 0 || len(m.revision) == 0) {
		err = errNoObject
	}
	if err != nil {
		return nil, fmt.Errorf("an object of %s cannot be read: %w", r.resource, err)
	}
	r.last.labels = m.labels
	if string(m.version) != r.last.apiVersion {
		r.last.apiVersion = string(m.version)
	}
	return r.object(&m, Form{APIVersion: r.last.apiVersion, Format: format}, data)
}

func (r *Receiver) object(m *metadata, form Form, data []byte) (*Object, error) {
	key := KeyOf(r.resource, string(m.namespace), string(m.name))
	revision, err := ParseRevision(string(m.revision))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	encoding, err := NewEncoding(form, data)
	if err == nil && !bytes.Equal(encoding.digits(), m.revision) {
		err = errTwoRevisions
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	o := New(Header{Key: key, UID: types.UID(m.uid), Labels: m.labels.set, Owners: m.owners}, r.codec, encoding)
	o.Revision = revision
	return o, nil
}
