package policy

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// maxDocument is the size of the JSON of a mutation, and of the object that it results in, in bytes: that of the
	// answer of a webhook.
	maxDocument = 8 << 20
	// valueSize is what a value counts beside its text.
	valueSize = 8
	// maxLevels is the number of levels of values in values, more than a request body may have.
	maxLevels = 1_000
)

// converter converts values of expressions to JSON values. It stops at a size, because a short expression may have a
// result that contains the same value many times.
type converter struct {
	left, levels int
	// asPatch follows Kubernetes' conversion of the values in a JSON Patch, in which large integers are texts.
	asPatch bool
}

// newConverter returns a converter for values of a size in bytes.
func newConverter(size int) *converter { return &converter{left: size} }

// use counts bytes.
func (c *converter) use(bytes int) error {
	if c.left -= bytes; c.left < 0 {
		return fmt.Errorf("the result of the expression has more than %d bytes", maxDocument)
	}
	return nil
}

// convert converts a value. If path is not nil, it checks that the types of objects have the names of their fields, as
// in Object{spec: Object.spec{}}.
func (c *converter) convert(v ref.Val, path []string) (any, error) {
	if err := c.use(valueSize); err != nil {
		return nil, err
	}
	if c.levels++; c.levels > maxLevels {
		return nil, fmt.Errorf("the result of the expression has more than %d levels", maxLevels)
	}
	defer func() { c.levels-- }()
	switch v := v.(type) {
	case *objectValue:
		return c.object(v, path)
	case traits.Mapper:
		return c.mapping(v, path)
	case traits.Lister:
		return c.list(v, path)
	case types.Bool:
		return bool(v), nil
	case types.Int:
		if c.asPatch && (v > 1<<53-1 || v < -(1<<53-1)) {
			return fmt.Sprint(int64(v)), nil
		}
		return int64(v), nil
	case types.Uint:
		if v > math.MaxInt64 || c.asPatch && v > 1<<53-1 {
			return fmt.Sprint(uint64(v)), nil
		}
		return int64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%v is not a JSON number", float64(v))
		}
		return float64(v), nil
	case types.String:
		return string(v), c.use(len(v))
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), c.use(len(v) * 4 / 3)
	case types.Null:
		return nil, nil
	case *types.Err:
		return nil, v
	}
	return c.other(v)
}

// other converts a value such as a timestamp or a duration.
func (c *converter) other(v ref.Val) (any, error) {
	native, err := v.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil, err
	}
	s, ok := native.(*structpb.Value)
	if !ok {
		return nil, fmt.Errorf("unsupported type %s", v.Type().TypeName())
	}
	return s.AsInterface(), nil
}

func (c *converter) object(o *objectValue, path []string) (any, error) {
	if expected := strings.Join(path, "."); path != nil && o.of.TypeName() != expected {
		return nil, fmt.Errorf("type mismatch: unexpected type name %q, expected %q, which matches field name path "+
			"from root Object type", o.of.TypeName(), expected)
	}
	fields := make(map[string]any, len(o.fields))
	for _, name := range slices.Sorted(maps.Keys(o.fields)) { // for the same error each time
		below := path
		if path != nil {
			below = append(path[:len(path):len(path)], name)
		}
		if err := c.field(fields, name, o.fields[name], below); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func (c *converter) field(fields map[string]any, name string, v ref.Val, path []string) error {
	if err := c.use(len(name)); err != nil {
		return err
	}
	converted, err := c.convert(v, path)
	fields[name] = converted
	return err
}

func (c *converter) mapping(m traits.Mapper, path []string) (any, error) {
	fields := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("map key %q is of type %T, not string", key, key)
		}
		if err := c.field(fields, string(name), m.Get(key), path); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func (c *converter) list(l traits.Lister, path []string) (any, error) {
	items := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		item, err := c.convert(it.Next(), path)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
