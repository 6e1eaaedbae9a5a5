package client

import "github.com/bowline-dev/bowline/internal/wire"

// DecodeError reports that an object from the server does not fit the Go type it is decoded into: for example, the
// schema of a custom resource has a string where the Go struct has an int32. Its fields name the object, the field
// and its value.
type DecodeError = wire.DecodeError

// ErrUnreadable is returned for a response that is neither valid JSON nor protobuf. Nothing after the invalid part
// can be read.
var ErrUnreadable = wire.ErrUnreadable
