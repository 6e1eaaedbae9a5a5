// Package certificates defines the kinds of the certificates.k8s.io group: certificate signing requests, bundles of
// trust anchors, and requests for the certificates of pods. The API stores and checks requests; it signs nothing.
//
// Validation follows Kubernetes 1.37 (pkg/apis/certificates/validation and pkg/registry/certificates); the tests name
// the source of each rule. The server validates metadata for all kinds. The rights to approve, sign and attest for a
// signer, which Kubernetes checks in admission plugins and in the status strategy of podcertificaterequests, are not
// checked here. Package internal/kind/builtin registers the kinds.
package certificates

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

type (
	signingRequest = certificatesv1.CertificateSigningRequest
	trustBundle    = certificatesv1.ClusterTrustBundle
	podRequest     = certificatesv1.PodCertificateRequest
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for cached
// encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{signingRequestKind(cache), trustBundleKind(cache), podRequestKind(cache)}
}

// endpoint returns the endpoint of a kind with these field selectors.
func endpoint(selectable ...string) []kind.Endpoint {
	fields := make(map[string]string, len(selectable))
	for _, f := range selectable {
		fields[f] = ""
	}
	return []kind.Endpoint{{Group: certificatesv1.GroupName, Version: "v1", Selectable: fields,
		NoNamespaceSelector: true}}
}

// Block types of PEM.
const (
	certificateBlock = "CERTIFICATE"
	requestBlock     = "CERTIFICATE REQUEST"
)

// nothing is the table cell for a missing value.
const nothing = "<none>"

var metadataPath = field.NewPath("metadata")

// anyName accepts every name.
func anyName(string, bool) []string { return nil }
