package plugins

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

var signingRequests = schema.GroupResource{Group: certificatesv1.GroupName, Resource: "certificatesigningrequests"}

// RestrictSubjects rejects requests for a client's certificate that would make its owner an administrator (Kubernetes'
// CertificateSubjectRestriction).
type RestrictSubjects struct{}

// Name implements admission.Plugin.
func (RestrictSubjects) Name() string { return "CertificateSubjectRestriction" }

// Handles implements admission.Plugin.
func (RestrictSubjects) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == signingRequests && sub == "" && op == admission.Create
}

// Admit implements admission.Plugin.
func (RestrictSubjects) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin. The kind has checked the form of the request.
func (RestrictSubjects) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return a.Forbidden("failed to parse CSR: %w", err)
	}
	if slices.Contains(request.Subject.Organization, administrators) {
		return a.Forbidden("use of %s signer with %s group is not allowed", csr.Spec.SignerName, administrators)
	}
	return nil
}

// administrators is the group whose members may do everything.
const administrators = "system:masters"

// parseRequest reads a request for a certificate in PEM.
func parseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
