package client

import "github.com/bowline-dev/bowline/internal/wire"

// DecodeError reports that an object from the server does not fit the Go type it is decoded into: for example, the
// schema of a custom resource has a string where the Go struct has an int32. Object is the object's kind, namespace and
// name, as far as they could be read; Type is the Go type; Field is the path of the field, such as spec.ports[2].port,
// or empty if the error is not about a field; Value is the field's JSON, shortened. Err is the cause and not nil;
// Unwrap returns it.
type DecodeError = wire.DecodeError

// ErrUnreadable is wrapped by the error for a response, or an event of a watch, that is neither valid JSON nor
// protobuf. Nothing after the invalid part can be read.
var ErrUnreadable = wire.ErrUnreadable
