package v1alpha1

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bowline-dev/bowline/internal/object"
)

// Size implements runtime.ProtobufMarshaller.
func (c *InitializerConfiguration) Size() int {
	data, _ := c.Marshal() // callers get the error from MarshalTo
	return len(data)
}

// MarshalTo implements runtime.ProtobufMarshaller.
func (c *InitializerConfiguration) MarshalTo(into []byte) (int, error) {
	data, err := c.Marshal()
	if err == nil && len(into) < len(data) {
		err = fmt.Errorf("an InitializerConfiguration of %d bytes does not fit into %d", len(data), len(into))
	}
	return copy(into, data), err
}

// Marshal encodes the object as Kubernetes' message of this name.
func (c *InitializerConfiguration) Marshal() ([]byte, error) {
	meta, err := c.ObjectMeta.Marshal()
	if err != nil {
		return nil, err
	}
	data := object.AppendField(nil, 1, meta)
	for _, i := range c.Initializers {
		one := object.AppendField(nil, 1, i.Name)
		for _, r := range i.Rules {
			var rule []byte
			for n, texts := range [...][]string{r.APIGroups, r.APIVersions, r.Resources} {
				for _, text := range texts {
					rule = object.AppendField(rule, protowire.Number(n+1), text)
				}
			}
			one = object.AppendField(one, 2, rule)
		}
		data = object.AppendField(data, 2, one)
	}
	return data, nil
}

// Unmarshal decodes the result of Marshal.
func (c *InitializerConfiguration) Unmarshal(data []byte) error {
	return object.EachField(data, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			return c.ObjectMeta.Unmarshal(value)
		case 2:
			var i Initializer
			err := i.unmarshal(value)
			c.Initializers = append(c.Initializers, i)
			return err
		}
		return nil
	})
}

func (i *Initializer) unmarshal(data []byte) error {
	return object.EachField(data, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			i.Name = string(value)
		case 2:
			var r Rule
			err := r.unmarshal(value)
			i.Rules = append(i.Rules, r)
			return err
		}
		return nil
	})
}

func (r *Rule) unmarshal(data []byte) error {
	texts := map[protowire.Number]*[]string{1: &r.APIGroups, 2: &r.APIVersions, 3: &r.Resources}
	return object.EachField(data, func(number protowire.Number, value []byte) error {
		if list := texts[number]; list != nil {
			*list = append(*list, string(value))
		}
		return nil
	})
}
