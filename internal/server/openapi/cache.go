package openapi

import (
	"bytes"
	"compress/gzip"
	"slices"
)

// budget is the maximum size of the cached documents, in bytes. The oldest ones are removed first.
const budget = 8 << 20

// documentKey identifies a document: its path in the index, or rootV2, and its media type.
type documentKey struct{ path, format string }

// finished is a cached document. It is compressed, since nearly all clients accept gzip.
type finished struct {
	hash string
	zip  []byte
}

// documents are the cached documents, the oldest first in order.
type documents struct {
	used  int
	order []documentKey
	all   map[documentKey]finished
}

// find returns a document if it is cached with this hash.
func (d *documents) find(key documentKey, hash string) ([]byte, bool) {
	f, ok := d.all[key]
	return f.zip, ok && f.hash == hash
}

// put caches a document in place of the previous one of its path.
func (d *documents) put(key documentKey, f finished) {
	d.drop(key)
	if d.all == nil {
		d.all = map[documentKey]finished{}
	}
	d.all[key] = f
	d.order = append(d.order, key)
	d.used += len(f.zip)
	for d.used > budget {
		d.drop(d.order[0])
	}
}

// retain removes the documents that are not live.
func (d *documents) retain(live func(path, hash string) bool) {
	for key, f := range d.all {
		if !live(key.path, f.hash) {
			d.drop(key)
		}
	}
}

func (d *documents) drop(key documentKey) {
	if f, ok := d.all[key]; ok {
		d.used -= len(f.zip)
		delete(d.all, key)
		d.order = slices.DeleteFunc(d.order, func(k documentKey) bool { return k == key })
	}
}

func (h *Handler) compress(data []byte) ([]byte, error) {
	w, _ := h.writers.Get().(*gzip.Writer)
	if w == nil {
		w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	}
	defer h.writers.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return bytes.Clone(out.Bytes()), err
}

func decompress(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = out.ReadFrom(r)
	return out.Bytes(), err
}
