package structural

import (
	"fmt"
	"net/http"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// errProtobuf is the response to formats other than JSON: a schema has no field numbers.
var errProtobuf = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Code:    http.StatusUnsupportedMediaType,
	Reason:  metav1.StatusReasonUnsupportedMediaType,
	Message: "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
}}

// Decode implements object.Codec. The returned object has its stored version. Decode does not check it,
// because the codec's own stamp shows that the same schemas applied when it was encoded.
func (d *definition) Decode(form object.Form, data []byte) (runtime.Object, error) {
	u, err := decodeStored(form, data)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// Adopt implements object.Adopter: it makes an object that another definition encoded fit the current schema
// of its stored version, and applies defaults.
func (d *definition) Adopt(form object.Form, data []byte) (runtime.Object, error) {
	u, err := decodeStored(form, data)
	if err != nil {
		return nil, err
	}
	v := d.defined(u.GetAPIVersion())
	if v == nil {
		return u, nil
	}
	if _, err := d.fit(u, v, fitOptions{dropMalformed: true}); err != nil {
		return nil, err
	}
	if err := d.setDefaults(u, v); apierrors.IsRequestEntityTooLargeError(err) { // it stays readable, without defaults
		return u, nil
	} else if err != nil {
		return nil, err
	}
	return u, nil
}

// decodeStored decodes a stored object.
func decodeStored(form object.Form, data []byte) (*unstructured.Unstructured, error) {
	if form.Format != object.JSON {
		return nil, errProtobuf
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// Encode implements object.Codec. It returns compact JSON with sorted keys.
func (d *definition) Encode(form object.Form, obj runtime.Object) ([]byte, error) {
	if form.Format != object.JSON {
		return nil, errProtobuf
	}
	converted, err := d.Convert(obj, form.APIVersion)
	if err != nil {
		return nil, err
	}
	return d.encodings.encode(converted.(*unstructured.Unstructured).Object)
}

// EncodeAll implements object.Batcher.
func (d *definition) EncodeAll(form object.Form, objects []runtime.Object) ([][]byte, error) {
	d = d.latest()
	v := d.defined(form.APIVersion)
	if v == nil {
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", form.APIVersion)
	}
	all := make([]*unstructured.Unstructured, len(objects))
	for i, obj := range objects {
		all[i] = obj.(*unstructured.Unstructured)
	}
	converted, err := d.convert(all, v, true)
	if err != nil {
		return nil, err
	}
	data := make([][]byte, len(converted))
	for i, u := range converted {
		if data[i], err = d.encodings.encode(u.Object); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// DecodeRequest implements kind.Kind. A body whose apiVersion or kind differs from the form's retains them,
// and loses all fields that no schema of the kind defines. The caller reports the mismatch.
func (k *Kind) DecodeRequest(form object.Form, body []byte, lenient bool) (kind.Object, []string, error) {
	sent, strict, err := k.Receive(form, body, lenient)
	if err != nil {
		return nil, strict, err
	}
	obj, err := k.Accept(sent, form.APIVersion)
	return obj, strict, err
}

// Receive implements kind.Kind.
func (k *Kind) Receive(form object.Form, body []byte, lenient bool) (runtime.Object, []string, error) {
	if form.Format != object.JSON {
		return nil, nil, errProtobuf
	}
	if err := kind.CheckJSON(body); err != nil {
		return nil, nil, err
	}
	u, strict, err := parse(body, lenient)
	if err != nil {
		return nil, nil, err
	}
	unknown, err := k.fit(u, k.defined(u.GetAPIVersion()), fitOptions{track: !lenient})
	if err != nil {
		return nil, strict, err
	}
	return u, append(strict, unknown...), nil
}

// Accept implements kind.Kind. It applies the defaults of the version that sent has, which may differ from apiVersion.
func (k *Kind) Accept(sent runtime.Object, _ string) (kind.Object, error) {
	u := sent.(*unstructured.Unstructured)
	return u, k.setDefaults(u, k.defined(u.GetAPIVersion()))
}

// ReceiveMap implements kind.Custom.
func (k *Kind) ReceiveMap(obj *unstructured.Unstructured, lenient bool) (kind.Object, []string, error) {
	v := k.defined(obj.GetAPIVersion())
	unknown, err := k.fit(obj, v, fitOptions{track: !lenient})
	if err != nil {
		return nil, nil, err
	}
	return obj, unknown, k.setDefaults(obj, v)
}

// ReceiveMerged implements kind.Custom.
func (k *Kind) ReceiveMerged(obj *unstructured.Unstructured) (kind.Object, error) {
	v := k.defined(obj.GetAPIVersion())
	if _, err := k.fit(obj, v, fitOptions{keepNulls: true}); err != nil {
		return nil, err
	}
	return obj, k.setDefaults(obj, v)
}

// parse decodes a body into maps. Unless lenient is set, it also returns the duplicate fields.
func parse(body []byte, lenient bool) (*unstructured.Unstructured, []string, error) {
	var content map[string]any
	if lenient {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &content); err != nil {
			return nil, nil, err
		}
		return checkIdentity(content, body, nil)
	}
	twice, err := kjson.UnmarshalStrict(body, &content)
	if err != nil {
		return nil, nil, err
	}
	var strict []string
	for _, e := range twice {
		strict = append(strict, e.Error())
	}
	return checkIdentity(content, body, strict)
}

// checkIdentity returns an error if the kind or apiVersion is not a string, or the kind is empty.
func checkIdentity(content map[string]any, body []byte, strict []string) (*unstructured.Unstructured, []string, error) {
	for _, name := range []string{"kind", "apiVersion"} {
		if _, _, err := unstructured.NestedString(content, name); err != nil {
			return nil, nil, err
		}
	}
	u := &unstructured.Unstructured{Object: content}
	if u.GetKind() == "" {
		return nil, nil, runtime.NewMissingKindErr(string(body))
	}
	return u, strict, nil
}

// fitOptions holds options for fitting an object to a schema.
type fitOptions struct {
	// track lists the dropped fields in the result.
	track bool
	// dropMalformed drops metadata of the wrong type, and sets a missing generation to 1. Without it, such
	// metadata is an error.
	dropMalformed bool
	// keepNulls retains nulls in non-nullable fields, for validation to reject. A default still replaces
	// them.
	keepNulls bool
}

// fit makes an object fit a version: it checks the types of metadata, and drops unknown fields and nulls in
// non-nullable fields. If v is nil, all fields but the metadata are unknown.
func (d *definition) fit(u *unstructured.Unstructured, v *definedVersion, o fitOptions) ([]string, error) {
	if kind.HasInitializers(u) { // the library's metadata has no such field
		if err := kind.CheckInitializers(u); err != nil {
			return nil, err
		}
		defer kind.WithoutInitializers(u)()
	}
	var meta *metav1.ObjectMeta
	var found bool
	var unknown []string
	if o.dropMalformed || !plainMetadata(u.Object) {
		var err error
		if meta, found, unknown, err = objectmeta.GetObjectMetaWithOptions(u.Object, objectmeta.ObjectMetaOptions{
			DropMalformedFields: o.dropMalformed, ReturnUnknownFieldPaths: o.track,
		}); err != nil {
			return nil, err
		}
	}
	if d.isKind(u) {
		c, err := v.schema()
		if err != nil {
			return nil, err
		}
		inside, err := d.fitContent(u, c, o)
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, inside...)
		if o.dropMalformed && meta.Generation == 0 {
			meta.Generation = 1
		}
	}
	if found {
		if err := objectmeta.SetObjectMeta(u.Object, meta); err != nil {
			return nil, err
		}
	}
	for i, path := range unknown {
		unknown[i] = fmt.Sprintf("unknown field %q", path)
	}
	return unknown, nil
}

// isKind reports whether an object is of the definition's kind.
func (d *definition) isKind(u *unstructured.Unstructured) bool {
	return u.GetKind() == d.kinds[0].info.Kind
}

// schema returns the compiled schema, or an empty one if v is nil.
func (v *definedVersion) schema() (*compiled, error) {
	if v == nil {
		return &compiled{}, nil
	}
	return v.compiled()
}

// fitContent applies a schema to everything but the object's own metadata.
func (d *definition) fitContent(u *unstructured.Unstructured, c *compiled, o fitOptions) ([]string, error) {
	var unknown []string
	if !d.preserve {
		unknown = pruning.PruneWithOptions(u.Object, c.structural, true,
			schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: o.track})
		if !o.keepNulls && hasNull(u.Object) {
			defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, c.structural)
		}
	}
	malformed, paths := objectmeta.CoerceWithOptions(nil, u.Object, c.embeds, false, objectmeta.CoerceOptions{
		DropInvalidFields: o.dropMalformed, ReturnUnknownFieldPaths: o.track,
	})
	if malformed != nil {
		return nil, malformed
	}
	return append(unknown, paths...), nil
}

// setDefaults applies the defaults of a version's schema.
func (d *definition) setDefaults(u *unstructured.Unstructured, v *definedVersion) error {
	if !d.isKind(u) {
		return nil
	}
	c, err := v.schema()
	if err != nil {
		return err
	}
	if err := checkDefaults(u.Object, c.defaults); err != nil {
		return err
	}
	defaulting.Default(u.Object, c.defaults)
	return nil
}
