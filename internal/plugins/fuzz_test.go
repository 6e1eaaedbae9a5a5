package plugins_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/bowline-dev/bowline/internal/plugins"
)

// FuzzSubject gives the plugin that restricts subjects a text in place of a request in PEM. It only admits one that can
// be read and does not ask to be an administrator.
func FuzzSubject(f *testing.F) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	for _, group := range []string{"devs", "system:masters"} {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: "jane", Organization: []string{group}}}, key)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	}
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----"))
	f.Fuzz(func(t *testing.T, data []byte) {
		csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientSignerName, Request: data}}
		a := create("certificatesigningrequests", "", "c", csr)
		if (plugins.RestrictSubjects{}).Validate(context.Background(), a, state{}) != nil {
			return
		}
		block, _ := pem.Decode(data)
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil || slices.Contains(request.Subject.Organization, "system:masters") {
			t.Errorf("admitted %q (%v)", data, err)
		}
	})
}
