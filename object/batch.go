package object

import "k8s.io/apimachinery/pkg/runtime"

// largestBatch is how many objects a Batcher gets at once.
const largestBatch = 256

// Encodings are many objects in a form, in their order. What is not made yet is made in batches, where the codec can.
func Encodings(objects []*Object, form Form) ([]*Encoding, error) {
	out := make([]*Encoding, len(objects))
	var waiting batch
	for i, o := range objects {
		codec := o.latest()
		if out[i] = o.made(form, codec); out[i] != nil {
			continue
		}
		if _, ok := codec.(Batcher); !ok {
			var err error
			if out[i], err = o.Encoding(form); err != nil {
				return nil, err
			}
			continue
		}
		if codec != waiting.codec || len(waiting.at) == largestBatch {
			if err := waiting.encode(objects, form, out); err != nil {
				return nil, err
			}
		}
		waiting.codec = codec
		waiting.at = append(waiting.at, i)
	}
	return out, waiting.encode(objects, form, out)
}

// batch are objects that one codec encodes together.
type batch struct {
	codec Codec
	at    []int
}

// encode fills in the encodings of the batch, and empties it.
func (b *batch) encode(objects []*Object, form Form, out []*Encoding) error {
	if len(b.at) == 0 {
		return nil
	}
	decoded := make([]runtime.Object, len(b.at))
	for n, i := range b.at {
		var err error
		if decoded[n], err = objects[i].Decode(); err != nil {
			return err
		}
	}
	data, err := b.codec.(Batcher).EncodeAll(form, decoded)
	if err != nil {
		return objects[b.at[0]].unwritable(form, err)
	}
	for n, i := range b.at {
		if out[i], err = objects[i].keep(form, b.codec, data[n]); err != nil {
			return err
		}
	}
	b.at = b.at[:0]
	return nil
}
