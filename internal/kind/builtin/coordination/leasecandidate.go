package coordination

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

type candidate = coordinationv1beta1.LeaseCandidate

// candidateKind returns the kind of candidates for a lease, among which a coordinator elects the holder. Both of its
// versions are off by default. Their JSON and protobuf are the same.
func candidateKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "LeaseCandidate", Plural: "leasecandidates", Singular: "leasecandidate",
		Namespaced:     true,
		CreateOnUpdate: true, ConditionalUpdate: true, Heartbeat: true,
		Endpoints: []kind.Endpoint{
			{Group: coordinationv1.GroupName, Version: "v1beta1", Unserved: true, Deprecated: "coordination.k8s.io/v1beta1 " +
				"LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+"},
			{Group: coordinationv1.GroupName, Version: v1alpha2.SchemeGroupVersion.Version, Unserved: true,
				Deprecated: "coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+"},
		},
		ValidName: func(name string, _ bool) []string { return validation.IsConfigMapKey(name) },
	}, kind.Rules[*candidate]{
		Validate: validateCandidate,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "LeaseName", Type: "string",
				Description: coordinationv1beta1.LeaseCandidateSpec{}.SwaggerDoc()["leaseName"]},
			{Name: "BinaryVersion", Type: "string"}, // Kubernetes looks their descriptions up in the wrong type
			{Name: "EmulationVersion", Type: "string"},
			kind.AgeColumn,
		},
		Row: func(c *candidate, now time.Time) []any {
			return []any{c.Name, c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion,
				kind.Age(c.CreationTimestamp.Time, now)}
		},
	})
}

func validateCandidate(c, old *candidate, _ string) (errs field.ErrorList) {
	spec, path := &c.Spec, field.NewPath("spec")
	if spec.LeaseName == "" {
		errs = append(errs, field.Required(path.Child("leaseName"), ""))
	}
	var emulated, binary *version.Version
	if spec.EmulationVersion != "" {
		emulated = parseVersion(spec.EmulationVersion, path.Child("emulationVersion"), &errs)
	}
	if at := path.Child("binaryVersion"); spec.BinaryVersion == "" {
		errs = append(errs, field.Required(at, ""))
	} else {
		binary = parseVersion(spec.BinaryVersion, at, &errs)
		if emulated != nil && (binary != nil && binary.LessThan(emulated) || binary == nil && !isZero(emulated)) {
			errs = append(errs, field.Invalid(at, spec.BinaryVersion,
				"must be greater than or equal to `emulationVersion`"))
		}
	}
	if spec.Strategy == "" {
		errs = append(errs, field.Required(path.Child("strategy"), ""))
	} else {
		if spec.Strategy == coordinationv1.OldestEmulationVersion && isZero(emulated) {
			errs = append(errs, field.Required(path.Child("emulationVersion"),
				"must be specified when `strategy` is 'OldestEmulationVersion'"))
		}
		errs = append(errs, validateStrategy(spec.Strategy, path.Child("strategy"))...)
	}
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(spec.LeaseName, old.Spec.LeaseName,
			path.Child("leaseName"))...)
	}
	return errs
}

// parseVersion parses a semantic version, which begins with a digit. It returns nil, and adds an error, if it is
// invalid.
func parseVersion(text string, path *field.Path, errs *field.ErrorList) *version.Version {
	v, err := version.ParseSemantic(text)
	if err != nil || text[0] < '0' || text[0] > '9' {
		*errs = append(*errs, field.Invalid(path, text, "must be a valid semantic version"))
		return nil
	}
	return v
}

// isZero reports whether a version is missing, invalid or 0.0.0.
func isZero(v *version.Version) bool {
	return v == nil || v.Major() == 0 && v.Minor() == 0 && v.Patch() == 0 && v.PreRelease() == ""
}
