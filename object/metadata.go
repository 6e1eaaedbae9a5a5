package object

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
