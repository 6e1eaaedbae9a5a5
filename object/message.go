package object

import "google.golang.org/protobuf/encoding/protowire"

// EachField calls f for each length-delimited field of a protobuf message that no generated code reads, in order, until f
// fails: its error, or that of what is no message, is returned. The values are parts of the message.
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
