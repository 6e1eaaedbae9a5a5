// Package stored converts between objects as the store holds them and objects as the rules of their kind work on them:
// it decodes, encodes, and makes the header that selectors match.
package stored

import (
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/store"
)

// The resources that the server treats specially.
var (
	Namespaces  = schema.GroupResource{Resource: "namespaces"}
	Definitions = schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}
)

// Decode decodes a stored object for the caller to change: into the kind's hub version, or, for a custom
// resource, into the version that it is stored in, which is sufficient to read its metadata.
func Decode(k kind.Kind, o *object.Object) (kind.Object, error) {
	obj, err := o.Decode(kind.CodecOf(k))
	if err != nil {
		return nil, err
	}
	return obj.(kind.Object), nil
}

// Read decodes a stored object for the caller to change, into the version that the kind's rules work on.
func Read(k kind.Kind, o *object.Object) (kind.Object, error) {
	v, ok := k.(kind.Custom)
	if !ok {
		obj, err := o.Decode(k)
		if err != nil {
			return nil, err
		}
		return obj.(kind.Object), nil
	}
	codec, form := v.Codec(), object.Form{APIVersion: v.APIVersion()}
	if o.Fresh(codec, form) {
		obj, err := o.Decode(codec)
		if err != nil {
			return nil, err
		}
		return obj.(kind.Object), nil
	}
	e, err := o.Encoding(codec, form)
	if err != nil {
		return nil, err
	}
	obj, err := codec.Decode(form, e.Bytes())
	if err != nil {
		return nil, err
	}
	return obj.(kind.Object), nil
}

// Shared decodes a stored object. Other callers share the result: nobody may change it.
func Shared(codec object.Codec, o *object.Object) (kind.Object, error) {
	obj, err := o.Decoded(codec)
	if err != nil {
		return nil, err
	}
	return obj.(kind.Object), nil
}

// InVersion returns an object whose header has the labels and fields of the version of k: a conversion may
// change them, and a field may be selectable in one version only. The object is decoded with codec.
func InVersion(k kind.Kind, codec object.Codec, o *object.Object) (*object.Object, error) {
	v, ok := k.(kind.Custom)
	if !ok {
		return o, nil
	}
	form := object.Form{APIVersion: v.APIVersion()}
	if o.Fresh(codec, form) {
		return o, nil
	}
	obj, err := Read(k, o)
	if err != nil {
		return nil, err
	}
	e, err := o.Encoding(codec, form)
	if err != nil {
		return nil, err
	}
	other := object.New(Header(k, obj), codec, *e)
	other.Revision = o.Revision
	return other, nil
}

// Header returns the data that the store holds beside the object's encodings.
func Header(k kind.Kind, obj kind.Object) object.Header {
	h := object.Header{
		Key:    object.KeyOf(k.Info().GroupResource(), obj.GetNamespace(), obj.GetName()),
		UID:    obj.GetUID(),
		Labels: obj.GetLabels(),
		Fields: k.Fields(obj),
	}
	for _, o := range obj.GetOwnerReferences() {
		h.Owners = append(h.Owners, o.UID)
	}
	if kind.HasInitializers(obj) {
		h.Fields = maps.Clone(h.Fields)
		if h.Fields == nil {
			h.Fields = map[string]string{}
		}
		h.Fields[object.InitializersField] = strings.Join(kind.InitializersOf(obj).Names(), ",")
	}
	return h
}

// Encode makes the object to commit, in the form that the writer's answer needs.
func Encode(k kind.Kind, obj kind.Object, form object.Form) (*object.Object, error) {
	if v, ok := k.(kind.Custom); ok {
		var err error
		if k, obj, err = v.ToStorage(obj); err != nil {
			return nil, err
		}
	}
	hub := k.Info().Endpoints[0].APIVersion()
	if form.APIVersion != hub {
		form = object.Form{APIVersion: hub, Format: form.Format}
	}
	version := obj.GetResourceVersion()
	obj.SetResourceVersion(object.RevisionPlaceholder)
	data, err := k.Encode(form, obj)
	obj.SetResourceVersion(version)
	if err != nil {
		return nil, err
	}
	e, err := object.NewEncoding(form, data)
	if err != nil {
		return nil, err
	}
	return object.New(Header(k, obj), k, e), nil
}

// Absent returns the error of a key without an object: it does not exist, or cannot be read.
func Absent(s *store.Store, gr schema.GroupResource, key object.Key) error {
	if err := s.Damage(key); err != nil {
		return err
	}
	return status.NotFound(gr, key.Name())
}

// RevisionOf parses the resourceVersion of an object; empty and "0" are revision 0.
func RevisionOf(obj metav1.Object) (object.Revision, error) {
	v := obj.GetResourceVersion()
	if v == "" || v == "0" {
		return 0, nil
	}
	return object.ParseRevision(v)
}

// Now returns the time with the precision of metadata: whole seconds.
func Now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// Named returns the kind that has a group, version and name.
func Named(kinds []kind.Kind, gvk schema.GroupVersionKind) (kind.Kind, bool) {
	for _, k := range kinds {
		if info := k.Info(); info.Kind == gvk.Kind && info.Endpoint(gvk.GroupVersion()) != nil {
			return k, true
		}
	}
	return nil, false
}
