package certificates

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	// decisions are the types of conditions that only a write of the approval subresource may add.
	decisions = []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved,
		certificatesv1.CertificateDenied}
	// lastingConditions are the types of conditions that have the status True and cannot be removed.
	lastingConditions = []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved,
		certificatesv1.CertificateDenied, certificatesv1.CertificateFailed}
)

// Supported statuses of conditions, in the order in which error messages list them.
var (
	onlyTrue    = []corev1.ConditionStatus{corev1.ConditionTrue}
	allStatuses = []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
)

func validateConditions(conditions []certificatesv1.CertificateSigningRequestCondition, t tolerance,
	path *field.Path) (errs field.ErrorList) {
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, c := range conditions {
		at := path.Index(i)
		if c.Type == "" && !t.untypedConditions {
			errs = append(errs, field.Required(at.Child("type"), ""))
		}
		supported := allStatuses
		if slices.Contains(lastingConditions, c.Type) {
			supported = onlyTrue
		}
		switch {
		case c.Status == "":
			errs = append(errs, field.Required(at.Child("status"), ""))
		case !slices.Contains(supported, c.Status):
			errs = append(errs, field.NotSupported(at.Child("status"), c.Status, supported))
		}
		if seen[c.Type] && !t.repeatedTypes {
			errs = append(errs, field.Duplicate(at.Child("type"), c.Type))
		}
		seen[c.Type] = true
	}
	return errs
}

func hasBothDecisions(s *certificatesv1.CertificateSigningRequestStatus) bool {
	return !slices.ContainsFunc(decisions, func(t certificatesv1.RequestConditionType) bool {
		return countConditions(s, t) == 0
	})
}

// bothDecisions returns the error of a request that is both approved and denied. The rule belongs to Kubernetes'
// declarative validation, so its error follows all others.
func bothDecisions(path *field.Path) *field.Error {
	var members, quoted []string
	for _, t := range decisions {
		member := fmt.Sprintf(`conditions[{"type": %q}]`, t)
		members, quoted = append(members, member), append(quoted, "`"+member+"`")
	}
	return field.Invalid(path, "{"+strings.Join(members, ", ")+"}",
		"must specify at most one of: "+strings.Join(quoted, ", "))
}

func conditionTypes(s *certificatesv1.CertificateSigningRequestStatus) iter.Seq[certificatesv1.RequestConditionType] {
	return func(yield func(certificatesv1.RequestConditionType) bool) {
		for i := range s.Conditions {
			if !yield(s.Conditions[i].Type) {
				return
			}
		}
	}
}

// repeats reports whether a value occurs twice.
func repeats[T comparable](values iter.Seq[T]) bool {
	seen := map[T]bool{}
	for v := range values {
		if seen[v] {
			return true
		}
		seen[v] = true
	}
	return false
}
