package kind

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/object"
)

// Pointer constrains pointers to API structs: a struct with kind, apiVersion and metadata can be served as a
// typed kind.
type Pointer[T any] interface {
	*T
	Object
}

// Rules are the functions of a typed kind. Each may be nil. They get objects of the hub version; they may
// modify obj and must not modify old.
type Rules[P any] struct {
	// Default sets the fields that the user omitted, as Kubernetes' defaulting of the version does.
	Default func(obj P)
	// Restore sets fields of a decoded stored object that its protobuf form omits, such as the kinds of
	// embedded objects.
	Restore func(obj P)
	// Prepare runs after the common part of Typed.Prepare.
	Prepare func(obj, old P, sub string)
	// Validate implements Kind.Validate.
	Validate func(obj, old P, sub string) field.ErrorList
	// Warnings implements Kind.Warnings. A write of the status calls StatusWarnings instead.
	Warnings       func(obj, old P) []string
	StatusWarnings func(obj P) []string
	// Fields implements Kind.Fields.
	Fields func(obj P) map[string]string
	// Columns are the columns of a Table; nil means PlainColumns.
	Columns []metav1.TableColumnDefinition
	// Row returns the cells for Columns.
	Row func(obj P, now time.Time) []any
	// GracePeriod implements Kind.GracePeriod, for kinds with Info.Graceful.
	GracePeriod func(obj P, requested *int64) int64
	// Assign, Claims and Record implement the methods of Kind, for kinds with Info.Claims.
	Assign func(obj, old P, values Values) (errs field.ErrorList, err error)
	Claims func(obj P) []Claim
	Record func(c Claim, obj P) Object
	// Versions maps an apiVersion to its conversion. It holds the endpoints whose Go struct differs from the
	// hub's.
	Versions map[string]Version[P]
}

// Version converts between the hub and another Go struct. A request in another version keeps its apiVersion
// in the hub object until the object is encoded, because validation rules may differ between versions.
type Version[P any] struct {
	// New returns an empty struct of the version.
	New func() runtime.Object
	// ToHub takes ownership of its argument and may retain parts of it.
	ToHub func(runtime.Object) (P, error)
	// FromHub returns an object with kind and apiVersion that shares no memory with its argument.
	FromHub func(P) (runtime.Object, error)
}

// Typed implements Kind for a Go struct.
type Typed[T any, P Pointer[T]] struct {
	info     Info
	rules    Rules[P]
	versions versions[P]
	cache    *object.Cache
	shared   sharedDecoder
}

var _ Kind = (*Typed[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata])(nil)

// NewTyped returns a typed kind. cache bounds the memory for cached encodings of all kinds of a server.
func NewTyped[T any, P Pointer[T]](cache *object.Cache, info Info, rules Rules[P]) *Typed[T, P] {
	info.Builtin = true
	return &Typed[T, P]{
		info: info, rules: rules, cache: cache,
		versions: versions[P]{kind: info.Kind, hub: info.Endpoints[0].GroupVersion(), byAPIVersion: rules.Versions},
	}
}

// Info implements Kind.
func (k *Typed[T, P]) Info() *Info { return &k.info }

// Stamp implements object.Codec. All typed kinds have the same stamp, because a Go struct can decode what any
// version of it encoded.
func (k *Typed[T, P]) Stamp() object.Stamp { return typedStamp }

// typedStamp is the stamp of all typed kinds.
const typedStamp = 1

// Cache implements object.Codec.
func (k *Typed[T, P]) Cache() *object.Cache { return k.cache }

// New implements Kind.
func (k *Typed[T, P]) New() Object {
	p := P(new(T))
	k.versions.setHub(p)
	return p
}

// Prototype implements Kind.
func (k *Typed[T, P]) Prototype(apiVersion string) runtime.Object {
	if v, other := k.versions.byAPIVersion[apiVersion]; other {
		return v.New()
	}
	return P(new(T))
}

// Decode implements object.Codec.
func (k *Typed[T, P]) Decode(form object.Form, data []byte) (runtime.Object, error) {
	obj := k.Prototype(form.APIVersion)
	if err := unmarshalStored(form.Format, data, obj); err != nil {
		return nil, err
	}
	if err := decodeInitializers(form.Format, data, obj); err != nil {
		return nil, err
	}
	hub, err := k.versions.toHub(form.APIVersion, obj)
	if err == nil && k.rules.Restore != nil {
		k.rules.Restore(hub)
	}
	return hub, err
}

// DecodeRequest implements Kind.
func (k *Typed[T, P]) DecodeRequest(form object.Form, body []byte, lenient bool) (Object, []string, error) {
	sent, strict, err := k.Receive(form, body, lenient)
	if err != nil {
		return nil, nil, err
	}
	obj, err := k.Accept(sent, form.APIVersion)
	return obj, strict, err
}

// Receive implements Kind.
func (k *Typed[T, P]) Receive(form object.Form, body []byte, lenient bool) (runtime.Object, []string, error) {
	obj := k.Prototype(form.APIVersion)
	if err := checkValues(form.Format, body, obj); err != nil {
		return nil, nil, err
	}
	if err := rejectHugeQuantities(form.Format, body, func() runtime.Object {
		return k.Prototype(form.APIVersion)
	}); err != nil {
		return nil, nil, err
	}
	var strict []string
	if form.Format == object.JSON && !lenient {
		errs, err := kjson.UnmarshalStrict(body, obj)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range errs {
			strict = append(strict, e.Error())
		}
	} else if err := Unmarshal(form.Format, body, obj); err != nil {
		return nil, nil, err
	}
	if form.Format == object.Protobuf {
		if err := checkEncodable(obj); err != nil {
			return nil, nil, err
		}
	}
	strict, err := decodeRequestInitializers(form.Format, body, obj, strict)
	return obj, strict, err
}

// Accept implements Kind.
func (k *Typed[T, P]) Accept(sent runtime.Object, apiVersion string) (Object, error) {
	hub, err := k.versions.toHub(apiVersion, sent)
	if err != nil {
		return nil, err
	}
	if k.rules.Default != nil {
		k.rules.Default(hub)
	}
	if k.versions.has(apiVersion) {
		hub.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, k.info.Kind))
	}
	return hub, nil
}

// Encode implements object.Codec.
func (k *Typed[T, P]) Encode(form object.Form, obj runtime.Object) ([]byte, error) {
	gv, err := schema.ParseGroupVersion(form.APIVersion)
	if err != nil {
		return nil, err
	}
	versioned, err := k.versions.fromHub(k.inHub(obj.(P)), gv)
	if err != nil {
		return nil, err
	}
	return Marshal(form.Format, versioned)
}

// orNil converts an object to its struct type, and nil to a nil pointer of that type.
func orNil[T any, P Pointer[T]](obj Object) P {
	if obj == nil {
		return nil
	}
	return obj.(P)
}

// Validate implements Kind.
func (k *Typed[T, P]) Validate(_ context.Context, obj, old Object, sub string) field.ErrorList {
	if k.rules.Validate == nil {
		return nil
	}
	return k.rules.Validate(obj.(P), orNil[T, P](old), sub)
}

// Warnings implements Kind.
func (k *Typed[T, P]) Warnings(obj, old Object, sub string) []string {
	switch {
	case sub == "status" && k.rules.StatusWarnings != nil:
		return k.rules.StatusWarnings(obj.(P))
	case sub != "status" && k.rules.Warnings != nil:
		return k.rules.Warnings(obj.(P), orNil[T, P](old))
	}
	return nil
}

// Fields implements Kind.
func (k *Typed[T, P]) Fields(obj Object) map[string]string {
	if k.rules.Fields == nil {
		return nil
	}
	return k.rules.Fields(obj.(P))
}

// GracePeriod implements Kind.
func (k *Typed[T, P]) GracePeriod(obj Object, requested *int64) int64 {
	if k.rules.GracePeriod == nil {
		return 0
	}
	return k.rules.GracePeriod(obj.(P), requested)
}

// BeginDelete implements Kind: the removal of objects is not delayed.
func (k *Typed[T, P]) BeginDelete(Object) (keep bool) { return false }

// Finished implements Kind.
func (k *Typed[T, P]) Finished(Object) bool { return true }

// Assign implements Kind.
func (k *Typed[T, P]) Assign(obj, old Object, values Values) (errs field.ErrorList, err error) {
	if k.rules.Assign == nil {
		return nil, nil
	}
	return k.rules.Assign(obj.(P), orNil[T, P](old), values)
}

// Claims implements Kind.
func (k *Typed[T, P]) Claims(obj Object) []Claim {
	if k.rules.Claims == nil {
		return nil
	}
	return k.rules.Claims(obj.(P))
}

// Record implements Kind.
func (k *Typed[T, P]) Record(c Claim, obj Object) Object {
	if k.rules.Record == nil {
		return nil
	}
	return k.rules.Record(c, obj.(P))
}

// Columns implements Kind.
func (k *Typed[T, P]) Columns(string) []metav1.TableColumnDefinition {
	if k.rules.Columns != nil {
		return k.rules.Columns
	}
	return PlainColumns
}

// Row implements Kind.
func (k *Typed[T, P]) Row(obj Object, _ string, now time.Time) ([]any, error) {
	if k.rules.Row != nil {
		return k.rules.Row(obj.(P), now), nil
	}
	return []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}, nil
}
