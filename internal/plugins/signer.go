package plugins

import (
	"bytes"
	"context"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// ApproveRequests lets only clients that may approve for a signer approve or deny its requests for certificates
// (Kubernetes' CertificateApproval).
type ApproveRequests struct{}

// Name implements admission.Plugin.
func (ApproveRequests) Name() string { return "CertificateApproval" }

// Handles implements admission.Plugin.
func (ApproveRequests) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == signingRequests && sub == "approval" && op == admission.Update
}

// Admit implements admission.Plugin.
func (ApproveRequests) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin.
func (ApproveRequests) Validate(ctx context.Context, a *admission.Attributes, _ admission.Reader) error {
	old, ok := a.Old.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return a.Forbidden("expected type CertificateSigningRequest, got: %T", a.Old)
	}
	if signer := old.Spec.SignerName; !mayForSigner(ctx, a, "approve", signer) {
		return a.Forbidden("user not permitted to approve requests with signerName %q", signer)
	}
	return nil
}

// SignRequests lets only clients that may sign for a signer set the certificate and the conditions of its requests
// (Kubernetes' CertificateSigning).
type SignRequests struct{}

// Name implements admission.Plugin.
func (SignRequests) Name() string { return "CertificateSigning" }

// Handles implements admission.Plugin.
func (SignRequests) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == signingRequests && sub == "status" && op == admission.Update
}

// Admit implements admission.Plugin.
func (SignRequests) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Validate implements admission.Plugin.
func (SignRequests) Validate(ctx context.Context, a *admission.Attributes, _ admission.Reader) error {
	old, ok := a.Old.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return a.Forbidden("expected type CertificateSigningRequest, got: %T", a.Old)
	}
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return a.Forbidden("expected type CertificateSigningRequest, got: %T", a.Object)
	}
	if bytes.Equal(old.Status.Certificate, csr.Status.Certificate) &&
		equality.Semantic.DeepEqual(old.Status.Conditions, csr.Status.Conditions) {
		return nil
	}
	if signer := old.Spec.SignerName; !mayForSigner(ctx, a, "sign", signer) {
		return a.Forbidden("user not permitted to sign requests with signerName %q", signer)
	}
	return nil
}

var trustBundles = schema.GroupResource{Group: certificatesv1.GroupName, Resource: "clustertrustbundles"}

// AttestBundles lets only clients that may attest for a signer write its trust bundles (Kubernetes'
// ClusterTrustBundleAttest).
type AttestBundles struct{}

// Name implements admission.Plugin.
func (AttestBundles) Name() string { return "ClusterTrustBundleAttest" }

// Handles implements admission.Plugin.
func (AttestBundles) Handles(op admission.Operation, resource schema.GroupResource, _ string) bool {
	return resource == trustBundles && (op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin.
func (AttestBundles) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin. A bundle without a signer, and a change for the garbage collector, need no
// permission.
func (AttestBundles) Validate(ctx context.Context, a *admission.Attributes, _ admission.Reader) error {
	bundle, ok := a.Object.(*certificatesv1.ClusterTrustBundle)
	if !ok {
		return a.Forbidden("expected type ClusterTrustBundle, got: %T", a.Object)
	}
	signer := bundle.Spec.SignerName
	if signer == "" {
		return nil
	}
	old, updates := a.Old.(*certificatesv1.ClusterTrustBundle)
	if updates && old != nil && collectorChange(bundle, old) {
		return nil
	}
	if !mayForSigner(ctx, a, "attest", signer) {
		return a.Forbidden("user not permitted to attest for signerName %q", signer)
	}
	return nil
}

// collectorChange reports whether an update changes nothing but the fields of a bundle that the garbage collector
// writes.
func collectorChange(bundle, old *certificatesv1.ClusterTrustBundle) bool {
	same := *bundle
	same.OwnerReferences, same.Finalizers = old.OwnerReferences, old.Finalizers
	same.ManagedFields = old.ManagedFields
	return equality.Semantic.DeepEqual(&same, old)
}

// mayForSigner reports whether the client may use a verb on a signer, such as example.com/ca, or on all signers of its
// domain: example.com/*.
func mayForSigner(ctx context.Context, a *admission.Attributes, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, err := matching.AuthorizerOf(a).Authorize(ctx, authorizer.AttributesRecord{
			User: clientOf(a), Verb: verb, APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers",
			Name: name, ResourceRequest: true,
		})
		if err == nil && decision == authorizer.DecisionAllow {
			return true
		}
	}
	return false
}

// clientOf returns the client that sent a write, for the authorizer.
func clientOf(a *admission.Attributes) user.Info {
	return &user.DefaultInfo{Name: a.User, UID: a.UserUID, Groups: a.Groups, Extra: a.Extra}
}
