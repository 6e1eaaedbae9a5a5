package server

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjsonmeta "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// decode reads the object of a create or update, in the kind and version of the URL, and sets defaults.
func (c *call) decode(o writeOptions) (kind.Object, error) {
	c.spans.at(stageDecode)
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	form := object.Form{APIVersion: c.endpoint.APIVersion()}
	header, data, strict, err := c.readHeader(body, &form)
	if err != nil {
		return nil, err
	}
	if err := c.knownKind(header); err != nil {
		return nil, err
	}
	obj, unknown, err := c.received(form, data, !o.strict && !o.warn)
	if err != nil {
		return nil, c.unreadable(header, body, err)
	}
	if err := c.strictness(o, header, append(strict, unknown...)); err != nil {
		return nil, err
	}
	if gv := header.GroupVersion(); header.Version != "" && gv != c.endpoint.GroupVersion() {
		return nil,
			apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
				gv, c.endpoint.GroupVersion()))
	}
	return obj, nil
}

// received decodes a body, sets defaults, and converts it to the version that the kind's rules work on.
func (c *call) received(form object.Form, body []byte, lenient bool) (kind.Object, []string, error) {
	sent, strict, err := c.kind.Receive(form, body, lenient)
	if err != nil {
		return nil, nil, err
	}
	c.spans.at(stageConvert)
	obj, err := c.kind.Accept(sent, form.APIVersion)
	return obj, strict, err
}

// readHeader returns the kind and version of a body, and converts YAML to JSON. strict are findings of the
// YAML parser.
func (c *call) readHeader(body []byte,
	form *object.Form) (header schema.GroupVersionKind, data []byte, strict []string, err error) {
	switch bodyMedia(c.http) {
	case mediaJSON:
		data = body
	case mediaYAML:
		if data, strict, err = jsonOfYAML(body); err != nil {
			return header, nil, nil, c.unreadable(header, body, err)
		}
	case mediaProtobuf:
		if !c.builtin() {
			return header, nil, nil, unsupportedMedia(mediaTypes...)
		}
		form.Format = object.Protobuf
		meta, err := kind.ProtobufHeader(body)
		if err != nil {
			return header, nil, nil, c.unreadable(header, body, err)
		}
		return schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind), body, nil, nil
	default:
		return header, nil, nil, unsupportedMedia(mediaTypes...)
	}
	meta, err := kjsonmeta.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return header, nil, nil, c.unreadable(header, body, err)
	}
	return *meta, data, strict, nil
}

// jsonOfYAML converts YAML to JSON. Duplicate keys are findings, not errors.
func jsonOfYAML(body []byte) (data []byte, strict []string, err error) {
	if data, err = yaml.YAMLToJSON(body); err != nil {
		return nil, nil, err
	}
	if _, dup := yaml.YAMLToJSONStrict(body); dup != nil {
		strict = []string{dup.Error()}
	}
	return data, strict, nil
}

// knownKind returns a 400 if the body's kind is not that of the URL.
func (c *call) knownKind(header schema.GroupVersionKind) error {
	// Validate checks the kind of a custom resource.
	if header.Kind == "" || header.Kind == c.info().Kind || !c.builtin() {
		return nil
	}
	own := c.gvk()
	if header.Version == "" {
		header.Version = own.Version
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: converting (%s.%s) to (%s.%s): unknown conversion",
		header.Kind, header.Version, own.Kind, header.Version, header.Kind, internalGroup(own.Group), own.Kind))
}

// internalGroup returns the name of a group in Kubernetes' errors about its internal types.
func internalGroup(group string) string {
	if group == "" {
		return "core"
	}
	name, _, _ := strings.Cut(group, ".")
	return name
}

// unreadable returns the 400 of a body that cannot be decoded. It names the body's kind, or quotes the
// beginning of the body if the kind is unknown.
func (c *call) unreadable(header schema.GroupVersionKind, body []byte, err error) error {
	own := c.info().Kind
	if header.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", header.Kind,
			header.Version, own, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", own,
		err, beginning(body)))
}

// beginning returns the start of a body for an error message: JSON as text, other bodies in hexadecimal.
func beginning(body []byte) string {
	const most = 30
	tail := ""
	if len(body) == 0 {
		return "<empty>"
	}
	object := body[0] == '{'
	if len(body) > most {
		body, tail = body[:most], " ..."
	}
	if object {
		return string(body) + tail
	}
	return hex.EncodeToString(body) + tail
}

// strictness rejects or warns about duplicate and unknown fields, as the options demand.
func (c *call) strictness(o writeOptions, header schema.GroupVersionKind, found []string) error {
	switch {
	case len(found) == 0:
	case o.strict:
		return c.unreadable(withDefault(header, c.gvk()), nil,
			errors.New("strict decoding error: "+strings.Join(found, ", ")))
	case o.warn:
		for _, f := range found {
			c.warn(f)
		}
	}
	return nil
}

func withDefault(gvk, fallback schema.GroupVersionKind) schema.GroupVersionKind {
	if gvk.Kind == "" {
		return fallback
	}
	return gvk
}
