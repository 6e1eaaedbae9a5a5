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
	"github.com/bowline-dev/bowline/object"
)

// errProtobuf answers what is not JSON: a schema has no field numbers.
var errProtobuf = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Code:    http.StatusUnsupportedMediaType,
	Reason:  metav1.StatusReasonUnsupportedMediaType,
	Message: "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
}}

// Decode implements object.Codec: what such a definition wrote is taken as it is, in the version that it was stored in.
func (d *definition) Decode(form object.Form, data []byte) (runtime.Object, error) {
	u, err := stored(form, data)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// Adopt implements object.Adopter: what another definition wrote is made what the schema of the version that it is stored in
// allows now, with its defaults.
func (d *definition) Adopt(form object.Form, data []byte) (runtime.Object, error) {
	u, err := stored(form, data)
	if err != nil {
		return nil, err
	}
	v := d.defined(u.GetAPIVersion())
	if v == nil {
		return u, nil
	}
	if _, err := d.fit(u, v, coercion{dropMalformed: true}); err != nil {
		return nil, err
	}
	return u, d.setDefaults(u, v)
}

// stored reads what a definition wrote.
func stored(form object.Form, data []byte) (*unstructured.Unstructured, error) {
	if form.Format != object.JSON {
		return nil, errProtobuf
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// Encode implements object.Codec: compact JSON with sorted keys.
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

// DecodeRequest implements kind.Kind. A body whose apiVersion or kind is not that of the form keeps them, without the
// fields that no schema of the kind knows, so that the caller can name what does not fit.
func (k *Kind) DecodeRequest(form object.Form, body []byte, lenient bool) (kind.Object, []string, error) {
	if form.Format != object.JSON {
		return nil, nil, errProtobuf
	}
	u, strict, err := parse(body, lenient)
	if err != nil {
		return nil, nil, err
	}
	obj, unknown, err := k.ReceiveMap(u, lenient)
	return obj, append(strict, unknown...), err
}

// ReceiveMap implements kind.MapReceiver.
func (k *Kind) ReceiveMap(obj *unstructured.Unstructured, lenient bool) (kind.Object, []string, error) {
	v := k.defined(obj.GetAPIVersion())
	unknown, err := k.fit(obj, v, coercion{track: !lenient})
	if err != nil {
		return nil, nil, err
	}
	return obj, unknown, k.setDefaults(obj, v)
}

// ReceiveMerged implements kind.MergeReceiver.
func (k *Kind) ReceiveMerged(obj *unstructured.Unstructured) (kind.Object, error) {
	v := k.defined(obj.GetAPIVersion())
	if _, err := k.fit(obj, v, coercion{keepNulls: true}); err != nil {
		return nil, err
	}
	return obj, k.setDefaults(obj, v)
}

// parse reads a body into maps. Fields that stand twice are named unless it is to be lenient.
func parse(body []byte, lenient bool) (*unstructured.Unstructured, []string, error) {
	var content map[string]any
	if lenient {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &content); err != nil {
			return nil, nil, err
		}
		return identified(content, body, nil)
	}
	twice, err := kjson.UnmarshalStrict(body, &content)
	if err != nil {
		return nil, nil, err
	}
	var strict []string
	for _, e := range twice {
		strict = append(strict, e.Error())
	}
	return identified(content, body, strict)
}

// identified refuses content whose kind and apiVersion cannot be read.
func identified(content map[string]any, body []byte, strict []string) (*unstructured.Unstructured, []string, error) {
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

// coercion says how an object is made to fit a schema.
type coercion struct {
	// track names the fields that are left out.
	track bool
	// dropMalformed leaves out metadata that cannot be read, and counts a missing generation as the first; without it, such
	// metadata is an error.
	dropMalformed bool
	// keepNulls leaves nulls where there may be none, for the rules to refuse; a default replaces them all the same.
	keepNulls bool
}

// fit makes an object what a version allows: metadata of the right types, no unknown fields, no nulls where there may be
// none. A nil version knows no field but the metadata.
func (d *definition) fit(u *unstructured.Unstructured, v *definedVersion, o coercion) ([]string, error) {
	if kind.SaysInitializers(u) { // the library's metadata has none
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
	if d.describes(u) {
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

// describes says whether an object is of the definition's kind.
func (d *definition) describes(u *unstructured.Unstructured) bool {
	return u.GetKind() == d.kinds[0].info.Kind
}

// schema is the compiled schema, an empty one for a version that is not defined.
func (v *definedVersion) schema() (*compiled, error) {
	if v == nil {
		return &compiled{}, nil
	}
	return v.compiled()
}

// fitContent applies a schema to all but the object's own metadata.
func (d *definition) fitContent(u *unstructured.Unstructured, c *compiled, o coercion) ([]string, error) {
	var unknown []string
	if !d.preserve {
		unknown = pruning.PruneWithOptions(u.Object, c.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: o.track})
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

// setDefaults fills in what a version's schema has defaults for.
func (d *definition) setDefaults(u *unstructured.Unstructured, v *definedVersion) error {
	if !d.describes(u) {
		return nil
	}
	c, err := v.schema()
	if err != nil {
		return err
	}
	defaulting.Default(u.Object, c.defaults)
	return nil
}
