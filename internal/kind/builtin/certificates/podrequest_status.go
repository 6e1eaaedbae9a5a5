package certificates

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	podStatusPath    = field.NewPath("status")
	podConditionPath = podStatusPath.Child("conditions")
	chainPath        = podStatusPath.Child("certificateChain")
	notBeforePath    = podStatusPath.Child("notBefore")
	notAfterPath     = podStatusPath.Child("notAfter")
	refreshPath      = podStatusPath.Child("beginRefreshAt")
)

const (
	issued = certificatesv1.PodCertificateRequestConditionTypeIssued
	denied = certificatesv1.PodCertificateRequestConditionTypeDenied
	failed = certificatesv1.PodCertificateRequestConditionTypeFailed
)

// validatePodRequestStatus validates a write of the status. A request ends once, with one of three conditions, and its
// status does not change before or after.
func validatePodRequestStatus(r, old *podRequest, now time.Time) field.ErrorList {
	s, was := &r.Status, &old.Status
	errs := validateEnding(s.Conditions)
	errs = append(errs, metavalidation.ValidateConditions(s.Conditions, podConditionPath)...)
	if len(errs) > 0 {
		return errs
	}
	switch {
	case ended(was, issued, denied, failed):
		return sameStatus(s, was, "immutable after PodCertificateRequest is issued, denied, or failed")
	case ended(s, denied, failed):
		return sameStatus(s, &certificatesv1.PodCertificateRequestStatus{Conditions: s.Conditions},
			"non-condition status fields must be empty when denying or failing the PodCertificateRequest")
	case ended(s, issued):
		return validateIssued(r, old, now)
	}
	return sameStatus(s, was, `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`)
}

// validateEnding allows at most one condition: Issued, Denied or Failed.
func validateEnding(conditions []metav1.Condition) (errs field.ErrorList) {
	endings := []string{issued, denied, failed}
	known := 0
	for i, c := range conditions {
		at := podConditionPath.Child("[" + strconv.Itoa(i) + "]") // as Kubernetes writes it: conditions.[0]
		if !slices.Contains(endings, c.Type) {
			errs = append(errs, field.NotSupported(at.Child("type"), c.Type, endings))
			continue
		}
		if known++; known > 1 {
			errs = append(errs, field.Invalid(at.Child("type"), c.Type,
				`There may be at most one condition with type "Issued", "Denied", or "Failed"`))
		}
		if c.Status != metav1.ConditionTrue {
			errs = append(errs, field.NotSupported(at.Child("status"), c.Status,
				[]metav1.ConditionStatus{metav1.ConditionTrue}))
		}
	}
	return errs
}

// ended reports whether a condition of one of the types is true.
func ended(s *certificatesv1.PodCertificateRequestStatus, types ...string) bool {
	return slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionTrue && slices.Contains(types, c.Type)
	})
}

func sameStatus(s, want *certificatesv1.PodCertificateRequestStatus, detail string) field.ErrorList {
	if equality.Semantic.DeepEqual(s, want) {
		return nil
	}
	return field.ErrorList{field.Invalid(podStatusPath, field.OmitValueType{}, detail)}
}

// validateIssued validates the certificate and the times of a request that becomes issued.
func validateIssued(r, old *podRequest, now time.Time) field.ErrorList {
	s := &r.Status
	leaf, rest, err := parseLeaf(s.CertificateChain)
	if err != nil {
		return field.ErrorList{err}
	}
	errs := validateLeafNames(leaf)
	if err := checkLeafKey(leaf, old.Spec.StubPKCS10Request, s.CertificateChain); err != nil {
		return append(errs, err)
	}
	const consistent = "must be present and consistent with the issued certificate"
	if s.NotBefore == nil {
		errs = append(errs, field.Required(notBeforePath, consistent))
	}
	if s.NotAfter == nil {
		errs = append(errs, field.Required(notAfterPath, consistent))
	}
	if s.BeginRefreshAt == nil {
		errs = append(errs, field.Required(refreshPath,
			"must be present and in the range [notbefore+10min, notafter-10min]"))
	}
	if len(errs) > 0 {
		return errs
	}
	longest := defaultExpiration
	if n := r.Spec.MaxExpirationSeconds; n != nil {
		longest = *n
	}
	if err := checkTimes(s, leaf.NotBefore, leaf.NotAfter, longest, now); err != nil {
		return field.ErrorList{err}
	}
	if err := checkIntermediates(rest, s.CertificateChain); err != nil {
		return field.ErrorList{err}
	}
	return nil
}

const (
	// maxSkew is the longest time between the start of a certificate's validity and the write of the status.
	maxSkew     = 5 * time.Minute
	minLifetime = time.Hour
	// refreshMargin is the shortest time between the start of the refresh and either end of the certificate's validity.
	refreshMargin = 10 * time.Minute
)

// checkTimes compares the times in the status with those of the leaf certificate. The certificate may be valid for
// longest seconds.
func checkTimes(s *certificatesv1.PodCertificateRequestStatus, from, until time.Time, longest int32,
	now time.Time) *field.Error {
	notBefore, notAfter, refresh := s.NotBefore.Time, s.NotAfter.Time, s.BeginRefreshAt.Time
	lifetime := until.Sub(from)
	switch {
	case !notBefore.Equal(from):
		return field.Invalid(notBeforePath, notBefore,
			"must be set to the NotBefore time encoded in the leaf certificate")
	case !notBefore.After(now.Add(-maxSkew)) || !notBefore.Before(now.Add(maxSkew)):
		return field.Invalid(notBeforePath, notBefore,
			"must be set to within 5 minutes of kube-apiserver's current time")
	case !notAfter.Equal(until):
		return field.Invalid(notAfterPath, notAfter, "must be set to the NotAfter time encoded in the leaf certificate")
	case lifetime < minLifetime:
		return field.Invalid(chainPath, lifetime, "leaf certificate lifetime must be >= 1 hour")
	case lifetime > time.Duration(longest)*time.Second:
		return field.Invalid(chainPath, lifetime,
			fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%v)", longest))
	case refresh.Before(notBefore.Add(refreshMargin)):
		return field.Invalid(refreshPath, refresh, "must be at least 10 minutes after status.notBefore")
	case refresh.After(notAfter.Add(-refreshMargin)):
		return field.Invalid(refreshPath, refresh, "must be at least 10 minutes before status.notAfter")
	}
	return nil
}
