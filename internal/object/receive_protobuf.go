package object

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/types"
)

// Field numbers in the envelope's TypeMeta, in ObjectMeta, in OwnerReference and in map entries.
const (
	unknownType    = 1
	typeAPIVersion = 1
	typeKind       = 2
	metaName       = 1
	metaNamespace  = 3
	metaUID        = 5
	metaLabels     = 11
	metaOwners     = 13
	ownerUID       = 4
	entryKey       = 1
	entryValue     = 2
)

var (
	errNoProtobuf = errors.New("it is not Kubernetes protobuf")
	errRepeated   = errors.New("its kind, its metadata or the object itself occurs more than once")
)

// readProtobuf reads the metadata of an object in its envelope.
func (m *metadata) readProtobuf(data []byte) error {
	envelope, ok := bytes.CutPrefix(data, []byte(ProtobufMagic))
	if !ok {
		return errNoProtobuf
	}
	kind, once := onlyField(envelope, unknownType)
	raw, onlyRaw := onlyField(envelope, unknownRaw)
	meta, onlyMeta := onlyField(raw, objectMetadata)
	if !once || !onlyRaw || !onlyMeta {
		return errRepeated
	}
	m.version = lastField(kind, typeAPIVersion)
	return m.readObjectMeta(meta)
}

// onlyField returns the value of a field, nil if it is absent. once is false if the field is repeated, which
// readers interpret differently.
func onlyField(message []byte, number protowire.Number) (only []byte, once bool) {
	count := 0
	eachField(message, func(n protowire.Number, value []byte, _, _ int) { // until message becomes malformed
		if n == number {
			only = value
			count++
		}
	})
	return only, count <= 1
}

// lastField returns the last value of a field: in protobuf, the last of repeated scalar fields applies.
func lastField(message []byte, number protowire.Number) (last []byte) {
	eachField(message, func(n protowire.Number, value []byte, _, _ int) {
		if n == number {
			last = value
		}
	})
	return last
}

func (m *metadata) readObjectMeta(meta []byte) error {
	var labelled struct{ from, to int } // map entries are contiguous
	ok := eachField(meta, func(n protowire.Number, value []byte, from, to int) {
		switch n {
		case metaName:
			m.name = value
		case metaNamespace:
			m.namespace = value
		case metaUID:
			m.uid = value
		case metaResourceVersion:
			m.revision = value
		case metaLabels:
			if labelled.to == 0 {
				labelled.from = from
			}
			labelled.to = to
		case metaOwners:
			if uid := lastField(value, ownerUID); len(uid) > 0 {
				m.owners = append(m.owners, types.UID(uid))
			}
		}
	})
	if !ok {
		return errNoProtobuf
	}
	return m.labels.readProtobuf(meta[labelled.from:labelled.to])
}

// readProtobuf reads the fields of an ObjectMeta that hold the labels.
func (l *labels) readProtobuf(raw []byte) error {
	if bytes.Equal(raw, l.raw) {
		return nil
	}
	*l = labels{raw: raw, set: map[string]string{}}
	ok := eachField(raw, func(n protowire.Number, entry []byte, _, _ int) {
		if n != metaLabels {
			return
		}
		var key, value []byte
		eachField(entry, func(n protowire.Number, part []byte, _, _ int) {
			switch n {
			case entryKey:
				key = part
			case entryValue:
				value = part
			}
		})
		l.set[string(key)] = string(value)
	})
	if !ok {
		return errNoProtobuf
	}
	return nil
}

// eachField calls f for each length-delimited field of a message, with the positions at which the field
// begins and ends. It returns false if message is malformed.
func eachField(message []byte, f func(n protowire.Number, value []byte, from, to int)) bool {
	for at := 0; at < len(message); {
		n, kind, size := protowire.ConsumeTag(message[at:])
		if size < 0 {
			return false
		}
		length := protowire.ConsumeFieldValue(n, kind, message[at+size:])
		if length < 0 {
			return false
		}
		from, value := at, message[at+size:at+size+length]
		at += size + length
		if kind == protowire.BytesType {
			_, prefix := protowire.ConsumeVarint(value)
			f(n, value[prefix:], from, at)
		}
	}
	return true
}
