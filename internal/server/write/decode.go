package write

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjsonmeta "k8s.io/apimachinery/pkg/runtime/serializer/json"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/expansion"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// decode is the stage that reads the body of a create or update. The result is a kind.Object of the URL's kind, with
// defaults, in the version that the kind's rules work on; or, if the subresource has its own kind, an object of that.
func (op *operation) decode() (runtime.Object, error) {
	req := op.req
	req.Spans.At(stage.Decode)
	data, err := req.Body.ReadBody()
	if err != nil {
		return nil, err
	}
	body, form := data, object.Form{APIVersion: req.Endpoint.APIVersion()}
	var header schema.GroupVersionKind // of the body
	var found []string                 // duplicate and unknown fields
	switch req.ContentType {
	case request.Protobuf:
		if !req.Info.Builtin {
			return nil, status.UnsupportedMedia(request.MediaTypes...)
		}
		form.Format = object.Protobuf
		meta, err := kind.ProtobufHeader(body)
		if err != nil {
			return nil, badBody(op.req, header, body, err)
		}
		header = schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind)
	case request.YAML:
		if err := checkYAML(body); err != nil {
			return nil, badBody(op.req, header, body, err)
		}
		var duplicate error
		if data, duplicate = yaml.YAMLToJSONStrict(body); duplicate != nil {
			if data, err = yaml.YAMLToJSON(body); err != nil {
				return nil, badBody(op.req, header, body, err)
			}
			found = []string{duplicate.Error()}
		}
		fallthrough
	case request.JSON:
		meta, err := kjsonmeta.DefaultMetaFactory.Interpret(data)
		if err != nil {
			return nil, badBody(op.req, header, body, err)
		}
		header = *meta
	default:
		return nil, status.UnsupportedMedia(request.MediaTypes...)
	}
	sub := req.Sub
	if sub != nil && sub.New == nil {
		sub = nil
	}
	if own := ownKind(req); req.Info.Builtin || sub != nil {
		header = complete(header, own)
		also := sub != nil && header.Kind == own.Kind && slices.Contains(sub.Also, header.GroupVersion())
		if header != own && !also {
			return nil, otherBody(op, header, form.Format, body, data)
		}
	}
	if sub != nil {
		obj, unknown, err := readTyped(form.Format, data, sub.New, op.Lenient())
		if err != nil {
			return nil, badBody(op.req, header, body, err)
		}
		return obj, op.checkStrictness(header, append(found, unknown...))
	}
	sent, unknown, err := req.Kind.Receive(form, data, op.Lenient())
	var obj kind.Object
	if err == nil {
		req.Spans.At(stage.Convert)
		obj, err = req.Kind.Accept(sent, form.APIVersion)
	}
	if err != nil {
		return nil, badBody(op.req, header, body, err)
	}
	if found = append(found, unknown...); len(found) > 0 {
		if err := op.checkStrictness(header, found); err != nil {
			return nil, err
		}
	}
	if gv := header.GroupVersion(); gv != req.Endpoint.GroupVersion() { // of a custom resource
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"the API version in the data (%s) does not match the expected API version (%s)", gv,
			req.Endpoint.GroupVersion()))
	}
	return obj, nil
}

// checkYAML returns an error for a YAML document that would be larger than a body may be if it had no aliases, or has
// too many values.
func checkYAML(document []byte) error {
	if err := kind.CheckYAML(document); err != nil {
		return err
	}
	return expansion.Check(document, request.MaxBody)
}

// tooLarge returns the 413 for a body that is too large in another way than its length, and reports whether err is the
// error of such a body.
func tooLarge(err error) (error, bool) {
	_, aliases := errors.AsType[*expansion.TooLargeError](err)
	_, values := errors.AsType[*kind.TooManyValuesError](err)
	if apierrors.IsRequestEntityTooLargeError(err) {
		return err, true
	}
	if !aliases && !values {
		return err, false
	}
	return apierrors.NewRequestEntityTooLargeError(err.Error()), true
}

// readTyped decodes JSON or protobuf into a new Go struct. found are unknown and duplicate fields of JSON, unless
// lenient is set.
func readTyped(format object.Format, data []byte, make func() runtime.Object,
	lenient bool) (obj runtime.Object, found []string, err error) {
	obj = make()
	if format == object.JSON {
		if err := kind.CheckJSON(data); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case format == object.Protobuf:
		return obj, nil, kind.Unmarshal(format, data, obj)
	case lenient:
		return obj, nil, kjson.UnmarshalCaseSensitivePreserveInts(data, obj)
	}
	errs, err := kjson.UnmarshalStrict(data, obj)
	for _, e := range errs {
		found = append(found, e.Error())
	}
	return obj, found, err
}

// badBody returns the 400 of a body that cannot be decoded. It names the body's kind, or quotes the beginning of the
// body if the kind is unknown: JSON as text, other bodies in hexadecimal.
func badBody(req *request.Request, header schema.GroupVersionKind, body []byte, err error) error {
	if err, ok := tooLarge(err); ok {
		return err
	}
	own := ownKind(req).Kind
	if header.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", header.Kind,
			header.Version, own, err))
	}
	const limit = 30
	quoted, tail := body[:min(len(body), limit)], ""
	if len(body) > limit {
		tail = " ..."
	}
	beginning := hex.EncodeToString(quoted) + tail
	switch {
	case len(body) == 0:
		beginning = "<empty>"
	case body[0] == '{':
		beginning = string(quoted) + tail
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", own,
		err, beginning))
}

// checkStrictness rejects or warns about duplicate and unknown fields, as the options demand.
func (op *operation) checkStrictness(header schema.GroupVersionKind, found []string) error {
	if len(found) > 0 && op.Strict {
		if header.Kind == "" {
			header = ownKind(op.req)
		}
		return badBody(op.req, header, nil, errors.New("strict decoding error: "+strings.Join(found, ", ")))
	}
	if op.Warn {
		for _, f := range found {
			op.req.Warn(f)
		}
	}
	return nil
}
