package server

import (
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// decodeSubresource reads the body of a request to a subresource that has its own kind.
func (c *call) decodeSubresource(o writeOptions) (runtime.Object, error) {
	c.spans.at(stageDecode)
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	form := object.Form{}
	header, data, strict, err := c.readHeader(body, &form)
	if err != nil {
		return nil, err
	}
	if form.Format == object.Protobuf {
		obj := c.sub.New()
		if err := kind.Unmarshal(object.Protobuf, data, obj); err != nil {
			return nil, c.unreadable(header, body, err)
		}
		return obj, nil
	}
	obj, found, err := readTyped(data, c.sub.New, o)
	if err != nil {
		return nil, c.unreadable(header, body, err)
	}
	return obj, c.strictness(o, header, append(strict, found...))
}

// readTyped decodes JSON into a new Go struct. found are unknown and duplicate fields, if the options ask for
// them.
func readTyped(data []byte, make func() runtime.Object,
	o writeOptions) (obj runtime.Object, found []string, err error) {
	obj = make()
	if !o.strict && !o.warn {
		return obj, nil, kjson.UnmarshalCaseSensitivePreserveInts(data, obj)
	}
	errs, err := kjson.UnmarshalStrict(data, obj)
	for _, e := range errs {
		found = append(found, e.Error())
	}
	return obj, found, err
}

// updateSubresource serves a PUT to a subresource that has its own kind (scale).
func (s *Server) updateSubresource(c *call, o writeOptions) error {
	body, err := c.decodeSubresource(o)
	if err != nil {
		return err
	}
	w, err := s.writeView(c, o, func(kind.Object) (runtime.Object, error) { return body.DeepCopyObject(), nil })
	if err != nil {
		return err
	}
	return s.answerWritten(c, w)
}

// writeView writes an object through what a subresource shows of it: next makes the new view from the current
// one.
func (s *Server) writeView(c *call, o writeOptions,
	next func(view kind.Object) (runtime.Object, error)) (*written, error) {
	whole := o
	whole.owned = true // ownView sets the ownership
	return s.write(c, whole, func(current kind.Object) (kind.Object, error) {
		return s.ownView(c, o, current.DeepCopyObject().(kind.Object), next)
	})
}
