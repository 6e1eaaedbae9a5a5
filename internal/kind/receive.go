package kind

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/object"
)

// Receiver is implemented by kinds that read a request in two steps, for who wants to see how long each takes.
// DecodeRequest does both.
type Receiver interface {
	// Receive reads a body into its own version, without defaults. The rest is as in DecodeRequest.
	Receive(form object.Form, body []byte, lenient bool) (sent runtime.Object, strict []string, err error)

	// Accept takes what Receive read to the version that the rules work on, with its defaults. sent is the kind's from now on.
	Accept(sent runtime.Object, apiVersion string) (Object, error)
}

// MergeReceiver is implemented by kinds that take what a server-side apply made as it is: their rules see nulls in it that
// a request's body loses where there may be none.
type MergeReceiver interface {
	// ReceiveMerged gives the object its defaults. It is the kind's from now on.
	ReceiveMerged(obj *unstructured.Unstructured) (Object, error)
}

// MapReceiver is implemented by kinds whose objects are decoded JSON: a patch of one that is at hand so needs no text.
type MapReceiver interface {
	// ReceiveMap is DecodeRequest of an object's text. The object is the kind's from now on, also when there is an error.
	ReceiveMap(obj *unstructured.Unstructured, lenient bool) (received Object, strict []string, err error)
}
