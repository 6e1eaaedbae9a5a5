package certificates

import (
	"bytes"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// usages are the supported key usages, in the order in which error messages list them.
var usages = []certificatesv1.KeyUsage{
	certificatesv1.UsageAny,
	certificatesv1.UsageCertSign,
	certificatesv1.UsageClientAuth,
	certificatesv1.UsageCodeSigning,
	certificatesv1.UsageContentCommitment,
	certificatesv1.UsageCRLSign,
	certificatesv1.UsageDataEncipherment,
	certificatesv1.UsageDecipherOnly,
	certificatesv1.UsageDigitalSignature,
	certificatesv1.UsageEmailProtection,
	certificatesv1.UsageEncipherOnly,
	certificatesv1.UsageIPsecEndSystem,
	certificatesv1.UsageIPsecTunnel,
	certificatesv1.UsageIPsecUser,
	certificatesv1.UsageKeyAgreement,
	certificatesv1.UsageKeyEncipherment,
	certificatesv1.UsageMicrosoftSGC,
	certificatesv1.UsageNetscapeSGC,
	certificatesv1.UsageOCSPSigning,
	certificatesv1.UsageSMIME,
	certificatesv1.UsageServerAuth,
	certificatesv1.UsageSigning,
	certificatesv1.UsageTimestamping,
}

// legacySigner is the default signer in v1beta1; v1 rejects it.
const legacySigner = "kubernetes.io/legacy-unknown"

// minExpiration is the shortest lifetime of a certificate, in seconds, that a signing request may ask for.
const minExpiration = 600

// tolerance lists the rules that an update may violate because the stored object violates them too.
type tolerance struct {
	legacySigner, unknownUsages, repeatedUsages     bool
	bothDecisions, untypedConditions, repeatedTypes bool
	arbitraryCertificate                            bool
}

func toleratedIn(csr, old *signingRequest) (t tolerance) {
	if old == nil {
		return t
	}
	t.legacySigner = old.Spec.SignerName == legacySigner
	t.unknownUsages = slices.ContainsFunc(old.Spec.Usages, isUnknown)
	t.repeatedUsages = repeats(slices.Values(old.Spec.Usages))
	t.bothDecisions = hasBothDecisions(&old.Status)
	t.untypedConditions = countConditions(&old.Status, "") > 0
	t.repeatedTypes = repeats(conditionTypes(&old.Status))
	t.arbitraryCertificate = bytes.Equal(csr.Status.Certificate, old.Status.Certificate) ||
		checkCertificates(old.Status.Certificate) != nil
	return t
}

func isUnknown(u certificatesv1.KeyUsage) bool { return !slices.Contains(usages, u) }

func validateSigningRequest(csr, old *signingRequest, sub string) (errs field.ErrorList) {
	tolerated, path := toleratedIn(csr, old), field.NewPath("spec")
	if old != nil { // in addition to the server's checks, so that clients see each cause as often as with Kubernetes
		errs = apivalidation.ValidateObjectMeta(&csr.ObjectMeta, false, anyName, metadataPath)
	}
	if err := checkRequest(csr.Spec.Request); err != nil {
		errs = append(errs, field.Invalid(path.Child("request"), csr.Spec.Request, err.Error()))
	}
	errs = append(errs, validateUsages(csr.Spec.Usages, tolerated, path.Child("usages"))...)
	if !tolerated.legacySigner && csr.Spec.SignerName == legacySigner {
		errs = append(errs, field.Invalid(path.Child("signerName"), csr.Spec.SignerName,
			"the legacy signerName is not allowed via this API version"))
	} else {
		errs = append(errs, fieldcheck.SignerName(path.Child("signerName"), csr.Spec.SignerName)...)
	}
	if s := csr.Spec.ExpirationSeconds; s != nil && *s < minExpiration {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *s,
			"may not specify a duration less than 600 seconds (10 minutes)"))
	}
	status := field.NewPath("status")
	errs = append(errs, validateConditions(csr.Status.Conditions, tolerated, status.Child("conditions"))...)
	if !tolerated.arbitraryCertificate {
		if err := checkCertificates(csr.Status.Certificate); err != nil {
			errs = append(errs, field.Invalid(status.Child("certificate"), "<certificate data>", err.Error()))
		}
	}
	if old != nil {
		errs = append(errs, validateStatusUpdate(&csr.Status, &old.Status, sub)...)
	}
	if !tolerated.bothDecisions && hasBothDecisions(&csr.Status) {
		errs = append(errs, bothDecisions(status.Child("conditions")))
	}
	return errs
}

func validateUsages(used []certificatesv1.KeyUsage, t tolerance, path *field.Path) (errs field.ErrorList) {
	if len(used) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if !t.unknownUsages {
		detail := field.NotSupported(path, "", usages).Detail // the same text for all errors: there may be many
		for i, u := range used {
			if isUnknown(u) {
				err := field.NotSupported[certificatesv1.KeyUsage](path.Index(i), u, nil)
				err.Detail = detail
				errs = append(errs, err)
			}
		}
	}
	if t.repeatedUsages {
		return errs
	}
	seen := map[certificatesv1.KeyUsage]bool{}
	for i, u := range used {
		if seen[u] {
			errs = append(errs, field.Duplicate(path.Index(i), u))
		}
		seen[u] = true
	}
	return errs
}

// validateStatusUpdate validates changes of the status. Prepare has restored the parts that the subresource cannot
// change.
func validateStatusUpdate(s, old *certificatesv1.CertificateSigningRequestStatus, sub string) (errs field.ErrorList) {
	path := field.NewPath("status")
	for _, t := range lastingConditions {
		if countConditions(s, t) < countConditions(old, t) {
			errs = append(errs, field.Forbidden(path.Child("conditions"),
				fmt.Sprintf("updates may not remove a condition of type %q", t)))
		}
	}
	if sub == approvalSub {
		return errs
	}
	for _, t := range decisions {
		if countConditions(s, t) > countConditions(old, t) {
			errs = append(errs, field.Forbidden(path.Child("conditions"),
				fmt.Sprintf("updates may not add a condition of type %q", t)))
		}
	}
	if len(old.Certificate) > 0 && !bytes.Equal(s.Certificate, old.Certificate) {
		errs = append(errs, field.Forbidden(path.Child("certificate"),
			"updates may not modify existing certificate content"))
	}
	return errs
}
