package attacks

import (
	"bytes"
	"math"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// magic is the prefix of protobuf bodies.
const magic = "k8s\x00"

// Numbers of fields of ObjectMeta, ConfigMap and PodSpec.
const (
	metadataField   = 1
	dataField       = 2
	nameField       = 1
	ownersField     = 13
	finalizersField = 14
	managedField    = 17
	labelsField     = 11
)

// message is field n of a protobuf message: bytes.
func message(n protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), value)
}

// envelope is a body with an object of a kind.
func envelope(version, kind string, raw []byte) string {
	header := runtime.TypeMeta{APIVersion: version, Kind: kind}
	body, _ := (&runtime.Unknown{TypeMeta: header, Raw: raw}).Marshal() // it cannot fail
	return magic + string(body)
}

// protobufMap is a ConfigMap named a with additional fields of its metadata, and of itself.
func protobufMap(metadata, fields []byte) string {
	named := append(message(nameField, []byte("a")), metadata...)
	return envelope("v1", "ConfigMap", append(message(metadataField, named), fields...))
}

// protobuf are bodies in protobuf.
func protobuf() []row {
	of := func(body string) []request { return postAs(configMaps, protobufType, body) }
	many := func(field protowire.Number, n int) string {
		return protobufMap(bytes.Repeat(message(field, nil), n), nil)
	}
	length := func(n uint64) string {
		return magic + string(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), n)) + "abc"
	}
	groups := strings.Repeat(string(protowire.AppendTag(nil, 3, protowire.StartGroupType)), 100_000)
	const unexpected = "unexpected EOF"
	return []row{
		{name: "a ConfigMap", send: of(protobufMap(nil, nil)), codes: []int{201}},
		{name: "the magic number only", send: of(magic), text: "name or generateName is required"},
		{name: "another magic number", send: of("k8s\x01abc"), text: "does not appear to be a protobuf message"},
		{name: "no type", send: of(envelope("", "", message(metadataField, message(nameField, []byte("a"))))), codes: []int{201}},
		{name: "a length beyond the end", send: of(length(1 << 20)), text: unexpected},
		{name: "the length 2^31", send: of(length(1 << 31)), text: unexpected},
		{name: "the length 2^63", send: of(length(1 << 63)), text: "negative length"},
		{name: "the length 2^64-1", send: of(length(math.MaxUint64)), text: "negative length"},
		{name: "a varint of 11 bytes", send: of(magic + "\x12" + strings.Repeat("\xff", 10) + "\x01"), text: "integer overflow"},
		{name: "an endless varint", send: of(magic + "\x12" + strings.Repeat("\xff", mega)), text: "integer overflow"},
		{name: "field 0", send: of(magic + "\x00\x00"), text: "illegal tag"},
		{name: "wire type 6", send: of(magic + "\x0e"), text: "wireType"},
		{name: "groups nested 100,000 deep", send: of(envelope("v1", "ConfigMap", []byte(groups)))},
		{name: "the end of a group that did not start",
			send: of(envelope("v1", "ConfigMap", protowire.AppendTag(nil, 3, protowire.EndGroupType)))},
		{name: "a negative length in the object", send: of(envelope("v1", "ConfigMap", []byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))),
			text: "negative length"},
		{name: "an overlong length", send: of(envelope("v1", "ConfigMap", append([]byte{0x0a, 0x83, 0x80, 0x00}, message(nameField, []byte("a"))...))),
			codes: []int{201}},
		{name: "a million owners", send: of(many(ownersField, mega)), text: tooMany},
		{name: "99,000 owners", send: of(many(ownersField, 99_000)), text: tooMany},
		{name: "33,000 owners", send: of(many(ownersField, 33_000)), text: "more errors are not listed"},
		{name: "a million managedFields", send: of(many(managedField, 900_000)), text: tooMany},
		{name: "99,000 managedFields", send: of(many(managedField, 99_000)), codes: []int{201, 400, 413, 422}},
		{name: "a million finalizers", send: of(many(finalizersField, mega)), text: tooMany},
		{name: "99,000 finalizers", send: of(many(finalizersField, 99_000)), text: "more errors are not listed"},
		{name: "a million labels", send: of(many(labelsField, mega)), text: tooMany},
		{name: "99,000 empty labels", send: of(many(labelsField, 99_000)), codes: []int{201, 422}},
		{name: "a million entries of data", send: of(protobufMap(nil, bytes.Repeat(message(dataField, nil), mega))), text: tooMany},
		{name: "the name 200,000 times", send: of(many(nameField, 200_000)), codes: []int{413, 422}},
		{name: "the metadata 200,000 times", send: of(protobufMap(nil, bytes.Repeat(message(metadataField, nil), 200_000))),
			codes: []int{201, 413}},
		{name: "an invalid name", send: of(envelope("v1", "ConfigMap", message(metadataField, message(nameField, []byte("\xff\xfe"))))),
			text: "RFC 1123"},
		{name: "invalid UTF-8 in a value", send: of(protobufMap(nil, message(dataField,
			append(message(1, []byte("k")), message(2, []byte("\xff\xfe"))...)))), codes: []int{201, 422}},
		{name: "a key that climbs", send: of(protobufMap(nil, message(dataField,
			append(message(1, []byte("../x\x00")), message(2, []byte("v"))...)))), text: "a valid config key"},
		{name: "another kind", send: of(envelope("v1", "Secret", nil)), text: "cannot be handled as a ConfigMap"},
		{name: "the object twice", send: of(protobufMap(nil, nil) + string(message(2, message(metadataField, message(nameField, []byte("b")))))),
			codes: []int{201}},
		{name: "unknown fields of 2 MB", send: of(protobufMap(nil, bytes.Repeat(message(500, []byte("x")), 500_000))),
			codes: []int{201, 413}},
		{name: "an unknown field of 2 MB", send: of(protobufMap(nil, message(500, make([]byte, 2*mega)))), codes: []int{201}},
		{name: "a name of 2.9 MB", send: of(protobufMap(message(nameField, bytes.Repeat([]byte("a"), 2_900_000)), nil)), text: "no more than 253"},
		{name: "JSON in the envelope", send: of(envelope("v1", "ConfigMap", []byte(configMap("a", ""))))},
		{name: "options of a deletion of a megabyte", send: []request{{method: http.MethodDelete, path: configMaps + "/a",
			mediaType: protobufType, body: envelope("v1", "DeleteOptions", bytes.Repeat(message(5, nil), 500_000))}},
			codes: []int{400, 404, 413, 422}},
		{name: "an IntOrString of another type", send: postAs(services, protobufType, envelope("v1", "Service", append(
			message(metadataField, message(nameField, []byte("a"))), message(2, message(1, append(
				protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 80),
				message(4, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7))...)))...)))},
		{name: "a pod of 99,000 containers", send: postAs(pods, protobufType, envelope("v1", "Pod", append(
			message(metadataField, message(nameField, []byte("a"))), message(2, bytes.Repeat(message(2, nil), 99_000))...)))},
		{name: "a pod of 33,000 containers", send: postAs(pods, protobufType, envelope("v1", "Pod", append(
			message(metadataField, message(nameField, []byte("a"))), message(2, bytes.Repeat(message(2, nil), 33_000))...)))},
		{name: "a pod of 33,000 volumes", send: postAs(pods, protobufType, envelope("v1", "Pod", append(
			message(metadataField, message(nameField, []byte("a"))), message(2, bytes.Repeat(message(1, nil), 33_000))...)))},
	}
}
