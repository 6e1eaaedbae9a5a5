package object

import "strings"

// Metadata is the metadata of the object as it stands in the encoding: a JSON object, or the bytes of an ObjectMeta
// message. The caller must not change it.
func (e *Encoding) Metadata() []byte {
	if e.Form.Format == Protobuf {
		from, to, _ := protobufField(e.data, int(e.item), int(e.itemEnd), objectMetadata) // NewEncoding found it
		return e.data[from:to]
	}
	at, _ := jsonField(e.data, 0, "metadata")
	return e.data[at:jsonValueEnd(e.data, at)]
}

// CutFieldSets takes the sets of fields out of metadata.managedFields: thin is the JSON of an object with null in their
// places, sets are their bytes, one for each entry, nil for one that has none. They are half of what is stored of many
// objects, and whoever decodes an object takes them as bytes. The data must come from an encoder; sets are parts of it.
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

// Message is the object's own message, out of its envelope; empty in JSON. The caller must not change it.
func (e *Encoding) Message() []byte {
	if e.Form.Format != Protobuf {
		return nil
	}
	return e.data[e.item:e.itemEnd]
}

// Kind is what the encoding calls the object.
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
