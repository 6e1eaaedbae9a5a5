package server

import (
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// partial returns the metadata of an object alone.
func partial(obj kind.Object, apiVersion string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: asPartial, APIVersion: apiVersion},
		ObjectMeta: objectMeta(obj),
	}
}

// objectMeta copies the metadata of any object into the struct of typed objects.
func objectMeta(obj kind.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: obj.GetName(), GenerateName: obj.GetGenerateName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		CreationTimestamp: obj.GetCreationTimestamp(),
		DeletionTimestamp: obj.GetDeletionTimestamp(), DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(),
		Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(), OwnerReferences: obj.GetOwnerReferences(),
		Finalizers: obj.GetFinalizers(), ManagedFields: obj.GetManagedFields(),
	}
}

// metadata returns the metadata of a stored object in a format: a JSON object, or an ObjectMeta message. The
// rest of the object is not decoded.
func (c *call) metadata(o *object.Object, format object.Format) ([]byte, error) {
	e := o.Stored()
	if v, ok := c.kind.(kind.Custom); ok { // a conversion may change labels and annotations
		var err error
		if e, err = o.Encoding(v.Codec(), object.Form{APIVersion: v.APIVersion()}); err != nil {
			return nil, err
		}
	}
	data := e.Metadata()
	if e.Form.Format == format {
		return data, nil
	}
	if o.Uninitialized() { // ObjectMeta has no field for initializers
		return c.metadataOf(o, format)
	}
	var meta metav1.ObjectMeta
	if format == object.JSON {
		if err := meta.Unmarshal(data); err != nil {
			return nil, err
		}
		return json.Marshal(&meta)
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, err
	}
	return meta.Marshal()
}

// metadataOf extracts the metadata from an encoding of the whole object.
func (c *call) metadataOf(o *object.Object, format object.Format) ([]byte, error) {
	e, err := o.Encoding(c.codec(), object.Form{APIVersion: c.endpoint.APIVersion(), Format: format})
	if err != nil {
		return nil, err
	}
	return e.Metadata(), nil
}

// appendPartial appends a PartialObjectMetadata in JSON with the given metadata.
func (c *call) appendPartial(dst, metadata []byte) []byte {
	dst = append(dst, `{"kind":"`+asPartial+`","apiVersion":"`+c.metaVersion()+`","metadata":`...)
	return append(append(dst, metadata...), '}')
}

// partialMessage is a PartialObjectMetadata message, which has no other field than field 1.
func partialMessage(metadata []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), metadata)
}

// partialBody encodes the metadata of one object.
func (c *call) partialBody(o *object.Object) ([]byte, error) {
	data, err := c.metadata(o, c.accept.format())
	if err != nil {
		return nil, err
	}
	if c.accept.format() == object.JSON {
		return c.appendPartial(nil, data), nil
	}
	return enveloped(c.metaVersion(), asPartial, partialMessage(data))
}

// answerPartial writes the metadata of one object.
func (s *Server) answerPartial(c *call, code int, o *object.Object) error {
	data, err := c.partialBody(o)
	if err != nil {
		return err
	}
	c.sendWarnings()
	writeBody(c.w, code, c.accept.name, data)
	return nil
}

// answerPartialList writes the metadata of a list of objects.
func (s *Server) answerPartialList(c *call, p *page) error {
	whole := c.partialJSONList
	if c.accept.format() == object.Protobuf {
		whole = c.partialProtobufList
	}
	data, err := whole(p)
	if err != nil {
		return err
	}
	c.sendWarnings()
	writeBody(c.w, http.StatusOK, c.accept.name, data)
	return nil
}

func (c *call) partialJSONList(p *page) ([]byte, error) {
	meta, err := json.Marshal(p.meta.shown())
	if err != nil {
		return nil, err
	}
	data := []byte(`{"kind":"` + asPartialList + `","apiVersion":"` + c.metaVersion() + `","metadata":` + string(meta) +
		`,"items":[`)
	for i, o := range p.items {
		if i > 0 {
			data = append(data, ',')
		}
		metadata, err := c.metadata(o, object.JSON)
		if err != nil {
			return nil, err
		}
		data = c.appendPartial(data, metadata)
	}
	return append(data, "]}"...), nil
}

func (c *call) partialProtobufList(p *page) ([]byte, error) {
	metaField, itemsField := protowire.Number(1), protowire.Number(2)
	if c.accept.version == "v1beta1" { // v1beta1 numbers the two fields in reverse
		metaField, itemsField = 2, 1
	}
	meta, err := p.meta.shown().Marshal()
	if err != nil {
		return nil, err
	}
	list := protowire.AppendBytes(protowire.AppendTag(nil, metaField, protowire.BytesType), meta)
	for _, o := range p.items {
		metadata, err := c.metadata(o, object.Protobuf)
		if err != nil {
			return nil, err
		}
		list = protowire.AppendBytes(protowire.AppendTag(list, itemsField, protowire.BytesType),
			partialMessage(metadata))
	}
	return enveloped(c.metaVersion(), asPartialList, list)
}
