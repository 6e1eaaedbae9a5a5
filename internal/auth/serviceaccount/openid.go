package serviceaccount

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Paths of the documents with which other programs verify tokens (OpenID Connect Discovery 1.0).
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	KeysPath          = "/openid/v1/jwks"
)

// maxAge is how long clients may cache the documents, in seconds. It is Kubernetes'.
const maxAge = 3600

// configuration is the part of an OpenID provider's metadata that programs need to verify tokens.
type configuration struct {
	Issuer        string   `json:"issuer"`
	KeysURL       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

// OpenID returns a handler of ConfigurationPath and KeysPath. address is the host and port at which clients reach the
// server.
func (i *Issuer) OpenID(address string) (http.Handler, error) {
	document, err := json.Marshal(configuration{
		Issuer: IssuerURL, KeysURL: "https://" + address + KeysPath, ResponseTypes: []string{"id_token"},
		SubjectTypes: []string{"public"}, Algorithms: []string{string(algorithm)},
	})
	if err != nil {
		return nil, err
	}
	keys, err := json.Marshal(i.keys)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, mediaType := document, "application/json"
		if strings.TrimSuffix(r.URL.Path, "/") == KeysPath {
			text, mediaType = keys, "application/jwk-set+json"
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", maxAge))
		_, _ = w.Write(text) // an error means that the client is gone
	}), nil
}
