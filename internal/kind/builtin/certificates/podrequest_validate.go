package certificates

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

const (
	maxUID  = 128
	maxStub = 10 << 10

	// Limits of spec.maxExpirationSeconds, in seconds. The last one applies to the signers of the Kubernetes project.
	minMaxExpiration        = 60 * 60
	maxMaxExpiration        = 91 * 24 * 60 * 60
	maxKubernetesExpiration = 24 * 60 * 60
)

var (
	podSpecPath = field.NewPath("spec")
	stubPath    = podSpecPath.Child("stubPKCS10Request")
)

func validatePodRequest(r, old *podRequest, sub string) field.ErrorList {
	switch {
	case old == nil:
		return validatePodRequestSpec(&r.Spec)
	case sub == statusSub:
		return validatePodRequestStatus(r, old, time.Now())
	}
	return apivalidation.ValidateImmutableField(layout(&r.Spec), layout(&old.Spec), podSpecPath)
}

// specLayout has the fields of the spec in the order in which Kubernetes' messages show them, with two fields that v1
// lacks.
type specLayout struct {
	SignerName                string
	PodName                   string
	PodUID                    types.UID
	ServiceAccountName        string
	ServiceAccountUID         types.UID
	NodeName                  types.NodeName
	NodeUID                   types.UID
	MaxExpirationSeconds      *int32
	PKIXPublicKey             []byte
	ProofOfPossession         []byte
	StubPKCS10Request         []byte
	UnverifiedUserAnnotations map[string]string
}

func layout(s *certificatesv1.PodCertificateRequestSpec) specLayout {
	return specLayout{
		SignerName: s.SignerName, PodName: s.PodName, PodUID: s.PodUID, ServiceAccountName: s.ServiceAccountName,
		ServiceAccountUID: s.ServiceAccountUID, NodeName: s.NodeName, NodeUID: s.NodeUID,
		MaxExpirationSeconds: s.MaxExpirationSeconds, StubPKCS10Request: s.StubPKCS10Request,
		UnverifiedUserAnnotations: s.UnverifiedUserAnnotations,
	}
}

func validatePodRequestSpec(s *certificatesv1.PodCertificateRequestSpec) field.ErrorList {
	path := podSpecPath
	errs := fieldcheck.SignerName(path.Child("signerName"), s.SignerName)
	errs = append(errs, fieldcheck.UserAnnotations(path.Child("unverifiedUserAnnotations"),
		s.UnverifiedUserAnnotations)...)
	errs = append(errs, validateIdentity(path.Child("podName"), s.PodName, path.Child("podUID"), s.PodUID)...)
	errs = append(errs, validateIdentity(path.Child("serviceAccountName"), s.ServiceAccountName,
		path.Child("serviceAccountUID"), s.ServiceAccountUID)...)
	errs = append(errs, validateIdentity(path.Child("nodeName"), string(s.NodeName), path.Child("nodeUID"),
		s.NodeUID)...)
	expiration := path.Child("maxExpirationSeconds")
	if s.MaxExpirationSeconds == nil {
		return append(errs, field.Required(expiration, "must be set"))
	}
	longest := int32(maxMaxExpiration)
	if fieldcheck.IsKubernetesSigner(s.SignerName) {
		longest = maxKubernetesExpiration
	}
	if n := *s.MaxExpirationSeconds; n < minMaxExpiration || n > longest {
		errs = append(errs, field.Invalid(expiration, n,
			fmt.Sprintf("must be in the range [%d, %d]", minMaxExpiration, longest)))
	}
	if len(s.StubPKCS10Request) == 0 {
		return append(errs, field.Invalid(path, field.OmitValueType{},
			"exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"))
	}
	if err := checkStub(s.StubPKCS10Request); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// validateIdentity validates the name and uid of an object.
func validateIdentity(path *field.Path, name string, uidPath *field.Path, uid types.UID) field.ErrorList {
	errs := fieldcheck.ObjectName(path, name, false)
	switch {
	case uid == "":
		errs = append(errs, field.Invalid(uidPath, uid, "must not be empty"))
	case len(uid) > maxUID:
		errs = append(errs, field.TooLong(uidPath, uid, maxUID))
	}
	return errs
}

// checkStub validates the certificate request of a kubelet. Only its key and its signature matter.
func checkStub(der []byte) *field.Error {
	if len(der) > maxStub {
		return field.TooLong(stubPath, "", maxStub)
	}
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return field.Invalid(stubPath, field.OmitValueType{}, "must be a valid PKCS#10 CSR")
	}
	switch key := request.PublicKey.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if !slices.Contains([]elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()}, key.Curve) {
			return field.Invalid(stubPath, "curve "+key.Curve.Params().Name,
				"elliptic public keys must use curve P256, P384, or P521")
		}
	case *rsa.PublicKey:
		if bits := key.Size() * 8; bits != 3072 && bits != 4096 {
			return field.Invalid(stubPath, fmt.Sprintf("%d-bit modulus", bits),
				"RSA keys must have modulus size 3072 or 4096")
		}
	default:
		return field.Invalid(stubPath, field.OmitValueType{},
			"unknown public key type; supported types are Ed25519, ECDSA, and RSA")
	}
	if request.CheckSignature() != nil {
		return field.Invalid(stubPath, field.OmitValueType{}, "invalid signature")
	}
	return nil
}
