package policy

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/common"
	mutationtypes "k8s.io/apiserver/pkg/cel/mutation"
)

// typeResolver resolves the types of mutations: JSONPatch, which is Kubernetes', and Object, Object.spec and so on. The
// latter are our own, because Kubernetes' type visits the whole value at each use: a value that contains another one
// twice, which does the same, has 2^40 parts after 40 levels.
type typeResolver struct{}

var _ common.TypeResolver = typeResolver{}

// Resolve implements common.TypeResolver.
func (typeResolver) Resolve(name string) (common.ResolvedType, bool) {
	if name == mutationtypes.ObjectTypeName || strings.HasPrefix(name, mutationtypes.ObjectTypeName+".") {
		return objectType{types.NewObjectType(name)}, true
	}
	return (&mutationtypes.DynamicTypeResolver{}).Resolve(name)
}

// objectType is the type of an object or of a part of it. It may have any field.
type objectType struct{ of *types.Type }

var _ common.ResolvedType = objectType{}

// HasTrait implements ref.Type.
func (t objectType) HasTrait(trait int) bool { return t.of.HasTrait(trait) }

// TypeName implements ref.Type.
func (t objectType) TypeName() string { return t.of.TypeName() }

// Type implements common.ResolvedType.
func (t objectType) Type() *types.Type { return t.of }

// Field implements common.ResolvedType.
func (objectType) Field(name string) (*types.FieldType, bool) {
	return &types.FieldType{
		Type: types.DynType,
		IsSet: func(target any) bool {
			o, ok := target.(*objectValue)
			return ok && o.fields[name] != nil
		},
		GetFrom: func(target any) (any, error) {
			o, ok := target.(*objectValue)
			if !ok || o.fields[name] == nil {
				return nil, fmt.Errorf("cannot get field %q", name)
			}
			return o.fields[name], nil
		},
	}, true
}

// FieldNames implements common.ResolvedType: the names are not known.
func (objectType) FieldNames() ([]string, bool) { return nil, true }

// Val implements common.ResolvedType.
func (t objectType) Val(fields map[string]ref.Val) ref.Val { return &objectValue{t.of, fields} }

// objectValue is an object, or a part of one, that an expression has constructed.
type objectValue struct {
	of     *types.Type
	fields map[string]ref.Val
}

var (
	_ ref.Val       = (*objectValue)(nil)
	_ traits.Zeroer = (*objectValue)(nil)
)

// ConvertToNative implements ref.Val. Mutations are converted by a converter instead.
func (o *objectValue) ConvertToNative(to reflect.Type) (any, error) {
	if to == reflect.TypeFor[*objectValue]() {
		return o, nil
	}
	return nil, fmt.Errorf("unable to convert to %v", to)
}

// ConvertToType implements ref.Val.
func (o *objectValue) ConvertToType(to ref.Type) ref.Val {
	switch {
	case to.TypeName() == o.of.TypeName():
		return o
	case to == types.TypeType:
		return types.NewTypeTypeWithParam(o.of)
	}
	return types.NewErr("unsupported conversion into %v", to)
}

// comparableFields is the number of fields of which two objects can be compared. Larger ones are not equal.
const comparableFields = 100

// Equal implements ref.Val. Objects with lists or maps are never equal to another object. Kubernetes compares the Go
// values, which has the same result for lists that an expression constructs.
func (o *objectValue) Equal(other ref.Val) ref.Val {
	p, ok := other.(*objectValue)
	left := comparableFields
	return types.Bool(ok && o.equals(p, &left))
}

func (o *objectValue) equals(p *objectValue, left *int) bool {
	if o == p {
		return true
	}
	if o.of.TypeName() != p.of.TypeName() || len(o.fields) != len(p.fields) {
		return false
	}
	for name, a := range o.fields {
		b, ok := p.fields[name]
		if *left--; *left < 0 || !ok {
			return false
		}
		switch a := a.(type) {
		case *objectValue:
			if b, ok := b.(*objectValue); !ok || !a.equals(b, left) {
				return false
			}
		case traits.Lister, traits.Mapper:
			return false
		default:
			if types.Equal(a, b) != types.True {
				return false
			}
		}
	}
	return true
}

// Type implements ref.Val.
func (o *objectValue) Type() ref.Type { return o.of }

// Value implements ref.Val.
func (o *objectValue) Value() any { return o }

// IsZeroValue implements traits.Zeroer.
func (o *objectValue) IsZeroValue() bool { return len(o.fields) == 0 }
