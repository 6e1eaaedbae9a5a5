package object

import "strings"

// Metadata returns the object's metadata as encoded: a JSON object, or an ObjectMeta message. The caller must
// not modify it.
func (e *Encoding) Metadata() []byte {
	if e.Form.Format == Protobuf {
		// NewEncoding checked that it exists
		from, to, _ := protobufField(e.data, int(e.item), int(e.itemEnd), objectMetadata)
		return e.data[from:to]
	}
	at, _ := jsonField(e.data, 0, "metadata")
	return e.data[at:jsonValueEnd(e.data, at)]
}

// CutFieldSets separates the field sets of metadata.managedFields from the JSON of an object. In thin, each
// fieldsV1 is replaced by null; sets has the bytes of one set per managedFields entry, nil for an entry
// without one. Field sets are half of the stored bytes of many objects, and decoding copies them unparsed.
// The data must come from an encoder; sets alias it.
func CutFieldSets(data []byte) (thin []byte, sets [][]byte) {
	meta, ok := jsonField(data, 0, "metadata")
	if !ok {
		return data, nil
	}
	list, ok := jsonField(data, meta, "managedFields")
	if !ok || data[list] != '[' {
		return data, nil
	}
	thin = make([]byte, 0, len(data))
	from := 0
	for i := list + 1; data[i] == '{'; {
		var set []byte
		if at, ok := jsonField(data, i, "fieldsV1"); ok && data[at] == '{' {
			to := jsonValueEnd(data, at)
			set = data[at:to]
			thin = append(append(thin, data[from:at]...), "null"...)
			from = to
		}
		sets = append(sets, set)
		if i = jsonValueEnd(data, i); data[i] == ',' {
			i++
		}
	}
	return append(thin, data[from:]...), sets
}

// Message returns the object's protobuf message without its envelope, or nil for JSON. The caller must not
// modify it.
func (e *Encoding) Message() []byte {
	if e.Form.Format != Protobuf {
		return nil
	}
	return e.data[e.item:e.itemEnd]
}

// Kind returns the kind named in the encoding.
func (e *Encoding) Kind() string {
	if e.Form.Format != Protobuf {
		at, ok := jsonField(e.data, 0, "kind")
		if !ok || e.data[at] != '"' {
			return ""
		}
		return strings.Trim(string(e.data[at:jsonValueEnd(e.data, at)]), `"`)
	}
	kind, _ := onlyField(e.data[len(ProtobufMagic):], unknownType)
	return string(lastField(kind, typeKind))
}
