package object

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Receiver makes objects of the bytes that another server sent. It reads what stands in the header and passes over the rest,
// so that bytes which are no object further down are found by who decodes it. Neighbours in a list are alike: what they
// have in common, labels and version, is kept once. A Receiver is for one goroutine, and one resource.
type Receiver struct {
	resource schema.GroupResource
	codec    Codec
	last     struct {
		apiVersion string
		labels     labels
	}
}

// NewReceiver makes a receiver of the objects of a resource, which codec will decode.
func NewReceiver(resource schema.GroupResource, codec Codec) *Receiver {
	return &Receiver{resource: resource, codec: codec}
}

// metadata is what a header is made of. What is of bytes points into those that were read.
type metadata struct {
	version         []byte
	namespace, name []byte
	uid, revision   []byte
	owners          []types.UID
	labels          labels
}

// labels are the encoded ones of an object, and the map that was made of the last that were encoded so.
type labels struct {
	raw []byte
	set map[string]string
}

var (
	// errNoObject is what is wrong with bytes that hold no object.
	errNoObject = errors.New("it has no metadata.name or no metadata.resourceVersion")
	// errTwoRevisions is what is wrong with bytes that no encoder made, of which each reader would make another object.
	errTwoRevisions = errors.New("it has its metadata or its resourceVersion twice, or in escaped letters")
)

// Receive makes an object of bytes, which it keeps: JSON, or protobuf in its envelope.
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
