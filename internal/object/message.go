package object

import "google.golang.org/protobuf/encoding/protowire"

// EachField calls f for each length-delimited field of a protobuf message, in order, for messages without
// generated code. It stops calling f after an error and returns that error, or an error if message is
// malformed. Values alias the message.
func EachField(message []byte, f func(number protowire.Number, value []byte) error) (err error) {
	ok := eachField(message, func(number protowire.Number, value []byte, _, _ int) {
		if err == nil {
			err = f(number, value)
		}
	})
	if err == nil && !ok {
		return errNoProtobuf
	}
	return err
}

// AppendField appends a length-delimited field to a protobuf message.
func AppendField[T string | []byte](message []byte, number protowire.Number, value T) []byte {
	return protowire.AppendBytes(protowire.AppendTag(message, number, protowire.BytesType), []byte(value))
}
