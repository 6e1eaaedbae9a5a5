package structural

import (
	"encoding/json"
	"fmt"
	"maps"
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

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/object"
)

// errProtobuf answers what is not JSON: a schema has no field numbers.
var errProtobuf = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Code:    http.StatusUnsupportedMediaType,
	Reason:  metav1.StatusReasonUnsupportedMediaType,
	Message: "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
}}

// Decode implements object.Codec. What was stored is taken as it is, without pruning and defaults, and belongs to the
// version that the definition stores now.
func (k *Kind) Decode(form object.Form, data []byte) (runtime.Object, error) {
	if form.Format != object.JSON {
		return nil, errProtobuf
	}
	k = k.latest()
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content); err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	if form.APIVersion != k.hub().apiVersion {
		u.SetAPIVersion(k.hub().apiVersion)
	}
	return u, nil
}

// Encode implements object.Codec: compact JSON with sorted keys. An object in another version than the hub's has the
// other apiVersion, and only the fields that the schema of that version knows.
func (k *Kind) Encode(form object.Form, obj runtime.Object) ([]byte, error) {
	if form.Format != object.JSON {
		return nil, errProtobuf
	}
	u := obj.(*unstructured.Unstructured)
	if u.GetAPIVersion() == form.APIVersion {
		return json.Marshal(u.Object)
	}
	k = k.latest()
	v := k.version(form.APIVersion)
	if v == nil {
		return nil, fmt.Errorf("%s is not defined in %s", k.info.Kind, form.APIVersion)
	}
	c, err := v.compiled()
	if err != nil {
		return nil, err
	}
	if k.preserve || c.structural == nil {
		content := maps.Clone(u.Object)
		content["apiVersion"] = form.APIVersion
		return json.Marshal(content)
	}
	u = u.DeepCopy()
	u.SetAPIVersion(form.APIVersion)
	prune(u, c.structural, false)
	return json.Marshal(u.Object)
}

// Convert implements kind.Kind.
func (k *Kind) Convert(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	u := obj.(*unstructured.Unstructured)
	if u.GetAPIVersion() == apiVersion {
		return u, nil
	}
	v := k.latest().version(apiVersion)
	if v == nil {
		return nil, fmt.Errorf("%s is not defined in %s", k.info.Kind, apiVersion)
	}
	u = u.DeepCopy()
	u.SetAPIVersion(apiVersion)
	_, err := k.latest().fit(u, v, true)
	return u, err
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
	asked := u.GetAPIVersion()
	unknown, err := k.fit(u, k.version(asked), lenient)
	if err != nil {
		return nil, nil, err
	}
	strict = append(strict, unknown...)
	if asked == form.APIVersion && asked != k.hub().apiVersion {
		u.SetAPIVersion(k.hub().apiVersion)
		if _, err := k.fit(u, k.hub(), true); err != nil {
			return nil, nil, err
		}
	}
	return u, strict, nil
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

// fit makes an object what a version allows: metadata of the right types, no unknown fields, defaults. It names the
// fields that it left out, unless it is to be lenient. A nil version knows no field but the metadata.
func (k *Kind) fit(u *unstructured.Unstructured, v *definedVersion, lenient bool) ([]string, error) {
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(u.Object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: !lenient})
	if err != nil {
		return nil, err
	}
	if u.GetKind() == k.info.Kind {
		s, err := v.structure()
		if err != nil {
			return nil, err
		}
		inside, err := k.fitContent(u, s, lenient)
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, inside...)
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

// structure is the compiled structural schema, nil for a version that is not defined.
func (v *definedVersion) structure() (*schema.Structural, error) {
	if v == nil {
		return nil, nil
	}
	c, err := v.compiled()
	if err != nil {
		return nil, err
	}
	return c.structural, nil
}

// fitContent applies a schema to all but the object's own metadata.
func (k *Kind) fitContent(u *unstructured.Unstructured, s *schema.Structural, lenient bool) ([]string, error) {
	var unknown []string
	if !k.preserve {
		unknown = prune(u, s, !lenient)
	}
	malformed, paths := objectmeta.CoerceWithOptions(nil, u.Object, s, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: !lenient})
	if malformed != nil {
		return nil, malformed
	}
	defaulting.Default(u.Object, s)
	return append(unknown, paths...), nil
}

// prune takes out what the schema does not know, and nulls that a default or nothing stands better for.
func prune(u *unstructured.Unstructured, s *schema.Structural, track bool) []string {
	unknown := pruning.PruneWithOptions(u.Object, s, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: track})
	defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, s)
	return unknown
}
