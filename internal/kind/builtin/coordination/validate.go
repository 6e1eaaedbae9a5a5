package coordination

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateLease(l, _ *coordinationv1.Lease, _ string) (errs field.ErrorList) {
	spec, path := &l.Spec, field.NewPath("spec")
	if n := spec.LeaseDurationSeconds; n != nil && *n <= 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDurationSeconds"), *n, "must be greater than 0"))
	}
	if n := spec.LeaseTransitions; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(path.Child("leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	if spec.Strategy != nil {
		errs = append(errs, validateStrategy(*spec.Strategy, path.Child("strategy"))...)
	}
	if p := spec.PreferredHolder; p != nil && *p != "" && (spec.Strategy == nil || *spec.Strategy == "") {
		errs = append(errs, field.Forbidden(path.Child("preferredHolder"),
			"may only be specified if `strategy` is defined"))
	}
	return errs
}

// validateStrategy accepts Kubernetes' own strategy, and names that are qualified by a domain. Like
// Kubernetes, it reports an error at the field strategy below the strategy.
func validateStrategy(s coordinationv1.CoordinatedLeaseStrategy, path *field.Path) (errs field.ErrorList) {
	path = path.Child("strategy")
	if !strings.Contains(string(s), "/") {
		if s != coordinationv1.OldestEmulationVersion {
			errs = append(errs, field.NotSupported(path, s,
				[]coordinationv1.CoordinatedLeaseStrategy{coordinationv1.OldestEmulationVersion}))
		}
		return errs
	}
	for _, msg := range validation.IsQualifiedName(string(s)) {
		errs = append(errs, field.Invalid(path, s, msg))
	}
	return errs
}
