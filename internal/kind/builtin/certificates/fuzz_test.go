package certificates

import (
	"encoding/pem"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// FuzzPEM gives the rules of all kinds a text in place of PEM. A request that is accepted is also accepted if it is
// encoded again, without what surrounds it.
func FuzzPEM(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\nA: b\n\nMAA=\n-----END CERTIFICATE REQUEST-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"))
	bundles := trustBundleKind(object.NewCache(1))
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkRequest(data) == nil {
			block, _ := pem.Decode(data)
			if err := checkRequest(pem.EncodeToMemory(block)); err != nil {
				t.Errorf("a request is only accepted with what surrounds it: %v", err)
			}
		}
		_ = checkCertificates(data)
		bundle := &certificatesv1.ClusterTrustBundle{}
		bundle.Name, bundle.Spec.TrustBundle = "b", string(data)
		bundles.Validate(t.Context(), bundle, nil, "")
		request := validPodRequest(data)
		request.Status.CertificateChain = string(data)
		validatePodRequest(request, nil, "")
		validatePodRequest(request, validPodRequest(data), "status")
	})
}
