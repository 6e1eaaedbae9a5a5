package object

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// maxBatch is the maximum number of objects passed to one Batcher.EncodeAll call.
const maxBatch = 256

// Encodings returns the encodings of objects in form, in the order of objects. Encodings that are not cached
// yet are made in batches if the codec implements Batcher. When ctx ends, no further ones are made.
func Encodings(ctx context.Context, objects []*Object, by Codec, form Form) ([]*Encoding, error) {
	out := make([]*Encoding, len(objects))
	batcher, _ := by.(Batcher)
	var waiting []int
	for i, o := range objects {
		if out[i] = o.existing(by.Stamp(), form); out[i] != nil {
			continue
		}
		if batcher == nil {
			err := ctx.Err()
			if err != nil {
				return nil, err
			}
			if out[i], err = o.Encoding(by, form); err != nil {
				return nil, err
			}
			continue
		}
		waiting = append(waiting, i)
	}
	for batch := range slices.Chunk(waiting, maxBatch) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := encodeAll(objects, batch, by, form, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encodeAll sets out[i] to the encoding of objects[i] for each index i in indexes.
func encodeAll(objects []*Object, indexes []int, by Codec, form Form, out []*Encoding) error {
	decoded := make([]runtime.Object, len(indexes))
	for n, i := range indexes {
		var err error
		if decoded[n], err = objects[i].Decode(by); err != nil {
			return err
		}
	}
	data, err := by.(Batcher).EncodeAll(form, decoded)
	if err != nil {
		return objects[indexes[0]].encodeError(form, err)
	}
	for n, i := range indexes {
		if out[i], err = objects[i].cacheEncoding(by, form, data[n]); err != nil {
			return err
		}
	}
	return nil
}
