package storagemigration

import (
	"strings"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

func validateMigration(m, old *storagemigrationv1.StorageVersionMigration, sub string) field.ErrorList {
	path := field.NewPath("spec")
	if sub == "status" {
		return validateStatus(&m.Status, &old.Status, field.NewPath("status"))
	}
	errs := validateResource(m.Spec.Resource, path.Child("resource"))
	if old != nil && m.Spec != old.Spec {
		errs = append(errs, field.Invalid(path, podspec.Layout(m.Spec), apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

func validateResource(r metav1.GroupResource, path *field.Path) (errs field.ErrorList) {
	if r.Resource == "" {
		errs = append(errs, field.Required(path.Child("resource"), "resource is required to be set"))
	} else {
		errs = append(errs, validateName(r.Resource, validation.IsDNS1035Label(r.Resource), path.Child("resource"))...)
	}
	if r.Group != "" {
		errs = append(errs, validateName(r.Group, validation.IsDNS1123Subdomain(r.Group), path.Child("group"))...)
	}
	return errs
}

// validateName returns all messages about a name as one error.
func validateName(name string, messages []string, path *field.Path) field.ErrorList {
	if len(messages) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, strings.Join(messages, ","))}
}

// validateStatus validates a write of the status. The resourceVersion and the outcome, once set, cannot change.
func validateStatus(s, was *storagemigrationv1.StorageVersionMigrationStatus, path *field.Path) (errs field.ErrorList) {
	revision, conditions := path.Child("resourceVersion"), path.Child("conditions")
	if s.ResourceVersion != "" {
		// The comparison with itself validates the form.
		if _, err := resourceversion.CompareResourceVersion(s.ResourceVersion, s.ResourceVersion); err != nil {
			errs = append(errs, field.Invalid(revision, s.ResourceVersion, err.Error()))
		}
	}
	errs = append(errs, validateConditions(s.Conditions, conditions)...)
	if was.ResourceVersion != "" && was.ResourceVersion != s.ResourceVersion {
		errs = append(errs, field.Invalid(revision, s.ResourceVersion, apivalidation.FieldImmutableErrorMsg))
	}
	succeeded, failed := isTrue(s, storagemigrationv1.MigrationSucceeded), isTrue(s, storagemigrationv1.MigrationFailed)
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{succeeded && failed, "Both success and failed conditions cannot be true at the same time"},
		{isTrue(was, storagemigrationv1.MigrationSucceeded) && !succeeded,
			"Success condition cannot be set to false once it is true"},
		{isTrue(was, storagemigrationv1.MigrationFailed) && !failed,
			"Failed condition cannot be set to false once it is true"},
	} {
		if rule.broken {
			errs = append(errs, field.Invalid(conditions, s.Conditions, rule.text))
		}
	}
	return errs
}

// validateConditions validates conditions as metavalidation.ValidateConditions does, but stops after 1000 errors, which
// bounds the cost of very many invalid conditions.
func validateConditions(conditions []metav1.Condition, path *field.Path) (errs field.ErrorList) {
	const maxErrors = 1000
	seen := map[string]bool{}
	for i, c := range conditions {
		if len(errs) >= maxErrors {
			break
		}
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(path.Index(i), c.Type))
		}
		seen[c.Type] = true
		errs = append(errs, metavalidation.ValidateCondition(c, path.Index(i))...)
	}
	return errs
}

func isTrue(s *storagemigrationv1.StorageVersionMigrationStatus, t storagemigrationv1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(s.Conditions, string(t))
}
