package openapi

import (
	"encoding/json"
	"net/http"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
)

// rootV2 is where clients look that know no OpenAPI v3, and kubectl before it applies a List or an object of a kind
// that is not served. For them there is a document that describes nothing: they check nothing themselves, and the server
// checks each object that they send. All that there is to know is below root.
const rootV2 = "/openapi/v2"

// The media types of the document in protobuf: the valid one, and the older one, which clients ask for.
const (
	protobufFormatV2    = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	protobufOldFormatV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
)

// emptyDocument is an OpenAPI v2 document with no paths and no definitions.
func emptyDocument(format string) ([]byte, error) {
	const version, title, unversioned = "2.0", "Bowline", "unversioned"
	if format == protobufFormatV2 {
		return proto.Marshal(&openapi_v2.Document{
			Swagger: version, Info: &openapi_v2.Info{Title: title, Version: unversioned}, Paths: &openapi_v2.Paths{},
		})
	}
	return json.Marshal(map[string]any{
		"swagger": version, "info": info{Title: title, Version: unversioned}, "paths": map[string]any{},
	})
}

func serveV2(w http.ResponseWriter, r *http.Request) {
	format, ok := negotiate(r.Header.Get("Accept"), protobufFormatV2, protobufOldFormatV2)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	body, err := emptyDocument(format)
	if err != nil {
		serverError(w, r, err)
		return
	}
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Content-Type", format)
	serveBytes(w, r, "empty", body)
}
