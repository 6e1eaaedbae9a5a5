package render

import (
	"bytes"
	"encoding/json"
	"maps"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// partial returns the metadata of a decoded object alone.
func partial(obj kind.Object, apiVersion string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: request.AsPartial, APIVersion: apiVersion},
		ObjectMeta: metav1.ObjectMeta{
			Name: obj.GetName(), GenerateName: obj.GetGenerateName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
			ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
			CreationTimestamp: obj.GetCreationTimestamp(), DeletionTimestamp: obj.GetDeletionTimestamp(),
			DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(),
			Labels:                     obj.GetLabels(), Annotations: obj.GetAnnotations(),
			OwnerReferences: obj.GetOwnerReferences(), Finalizers: obj.GetFinalizers(),
			ManagedFields: obj.GetManagedFields(),
		},
	}
}

// partialState is partial for an object of the request's kind. It does not change the object.
func partialState(req *request.Request, obj kind.Object) *metav1.PartialObjectMetadata {
	p := partial(obj, req.Accept.MetaVersion())
	if hidden := req.Info.FieldAnnotation; hidden != "" {
		p.Annotations = maps.Clone(p.Annotations)
		delete(p.Annotations, hidden)
	}
	return p
}

// metadata returns the metadata of a stored object in a format: a JSON object, or an ObjectMeta message. It decodes the
// rest of the object only if a conversion or initializers require it. It returns an error if the request has ended.
func metadata(req *request.Request, o *object.Object, format object.Format) ([]byte, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	e := o.Stored()
	if v, ok := req.Kind.(kind.Custom); ok { // a conversion may change labels and annotations
		var err error
		if e, err = o.Encoding(v.Codec(), object.Form{APIVersion: v.APIVersion()}); err != nil {
			return nil, err
		}
	}
	hidden := req.Info.FieldAnnotation
	if e.Form.Format == format && (hidden == "" || !bytes.Contains(e.Metadata(), []byte(hidden))) {
		return e.Metadata(), nil
	}
	if o.Uninitialized() { // ObjectMeta has no field for initializers: encode the whole object
		e, err := o.Encoding(req.Codec(), object.Form{APIVersion: req.Endpoint.APIVersion(), Format: format})
		if err != nil {
			return nil, err
		}
		return e.Metadata(), nil
	}
	var meta metav1.ObjectMeta
	decode, encode := meta.Unmarshal, meta.Marshal
	if e.Form.Format == object.JSON {
		decode = func(data []byte) error { return json.Unmarshal(data, &meta) }
	}
	if format == object.JSON {
		encode = func() ([]byte, error) { return json.Marshal(&meta) }
	}
	if err := decode(e.Metadata()); err != nil {
		return nil, err
	}
	delete(meta.Annotations, hidden)
	return encode()
}

// appendPartial appends a PartialObjectMetadata in JSON with the given metadata.
func appendPartial(dst []byte, apiVersion string, metadata []byte) []byte {
	dst = append(dst, `{"kind":"`+request.AsPartial+`","apiVersion":"`...)
	dst = append(append(dst, apiVersion...), `","metadata":`...)
	return append(append(dst, metadata...), '}')
}

// partialMessage returns a PartialObjectMetadata message, which has no other field than field 1.
func partialMessage(metadata []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), metadata)
}

// partialBody encodes the metadata of a stored object.
func partialBody(req *request.Request, o *object.Object) ([]byte, error) {
	data, err := metadata(req, o, req.Accept.Format())
	if err != nil {
		return nil, err
	}
	if req.Accept.Format() == object.JSON {
		return appendPartial(nil, req.Accept.MetaVersion(), data), nil
	}
	return enveloped(req.Accept.MetaVersion(), request.AsPartial, partialMessage(data))
}

// partialList encodes the metadata of a list of stored objects.
func partialList(req *request.Request, p *request.Page) ([]byte, error) {
	apiVersion := req.Accept.MetaVersion()
	if req.Accept.Format() == object.JSON {
		meta, err := json.Marshal(p.Meta.Shown())
		if err != nil {
			return nil, err
		}
		list := []byte(`{"kind":"` + request.AsPartialList + `","apiVersion":"` + apiVersion + `","metadata":` +
			string(meta) + `,"items":[`)
		for i, o := range p.Items {
			if i > 0 {
				list = append(list, ',')
			}
			data, err := metadata(req, o, object.JSON)
			if err != nil {
				return nil, err
			}
			list = appendPartial(list, apiVersion, data)
		}
		return append(list, "]}"...), nil
	}
	metaField, itemsField := protowire.Number(1), protowire.Number(2)
	if req.Accept.Version == "v1beta1" { // v1beta1 numbers the two fields in reverse
		metaField, itemsField = 2, 1
	}
	meta, err := p.Meta.Shown().Marshal()
	if err != nil {
		return nil, err
	}
	list := protowire.AppendBytes(protowire.AppendTag(nil, metaField, protowire.BytesType), meta)
	for _, o := range p.Items {
		data, err := metadata(req, o, object.Protobuf)
		if err != nil {
			return nil, err
		}
		list = protowire.AppendTag(list, itemsField, protowire.BytesType)
		list = protowire.AppendBytes(list, partialMessage(data))
	}
	return enveloped(apiVersion, request.AsPartialList, list)
}
