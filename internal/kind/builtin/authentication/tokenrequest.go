package authentication

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The lifetimes of tokens that can be requested, in seconds.
const (
	defaultLifetime = 60 * 60
	minLifetime     = 10 * 60
	maxLifetime     = 1 << 32
)

// DefaultTokenRequest sets the fields that a request for a token leaves to the server, except for the audiences.
func DefaultTokenRequest(request *authenticationv1.TokenRequest) {
	if request.Spec.ExpirationSeconds == nil {
		seconds := int64(defaultLifetime)
		request.Spec.ExpirationSeconds = &seconds
	}
}

// ValidateTokenRequest returns the errors of a request with defaults. Behavior and messages follow Kubernetes
// (pkg/apis/authentication/validation).
func ValidateTokenRequest(request *authenticationv1.TokenRequest) field.ErrorList {
	var errs field.ErrorList
	spec, path := &request.Spec, field.NewPath("spec")
	lifetime := *spec.ExpirationSeconds
	if lifetime < minLifetime {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), lifetime,
			"may not specify a duration less than 10 minutes"))
	}
	if lifetime > maxLifetime {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), lifetime,
			"may not specify a duration larger than 2^32 seconds"))
	}
	attestations := path.Child("attestations")
	switch {
	case IsWebhookConfiguration(spec.BoundObjectRef):
		if len(spec.Audiences) != 1 {
			errs = append(errs, field.Invalid(path.Child("audiences"), spec.Audiences,
				"must be length 1 when bound to a webhook config"))
		}
		errs = append(errs, validateAttestations(spec.Attestations, attestations)...)
	case len(spec.Attestations) > 0:
		return field.ErrorList{field.Invalid(attestations, spec.Attestations,
			"attestations may only be specified with a webhook bound object reference")}
	}
	return errs
}

// IsWebhookConfiguration reports whether a token shall be bound to the configuration of an admission webhook.
func IsWebhookConfiguration(ref *authenticationv1.BoundObjectReference) bool {
	return ref != nil && ref.APIVersion == admissionregistrationv1.SchemeGroupVersion.String() &&
		(ref.Kind == "ValidatingWebhookConfiguration" || ref.Kind == "MutatingWebhookConfiguration")
}

func validateAttestations(all map[string]authenticationv1.AttestationValue, path *field.Path) field.ErrorList {
	if len(all) != 1 {
		return field.ErrorList{field.Invalid(path, all,
			"webhook bound requests require exactly one admissionReviewAPIGroups attestation")}
	}
	const known = authenticationv1.AttestationAdmissionReviewAPIGroups
	var errs field.ErrorList
	for key, values := range all {
		path := path.Key(key)
		switch {
		case key != known:
			errs = append(errs, field.NotSupported(path, key, []string{known}))
		case len(values) != 1:
			errs = append(errs, field.Invalid(path, values, "must specify a single value"))
		default:
			errs = append(errs, validateAttestedGroup(values[0], path.Index(0))...)
		}
	}
	return errs
}

// validateAttestedGroup accepts an API group, or * for all. The core group has no name, and cannot be attested.
func validateAttestedGroup(group string, path *field.Path) (errs field.ErrorList) {
	switch group {
	case "":
		return field.ErrorList{field.Invalid(path, group, "may not be an empty string")}
	case "*":
		return nil
	}
	for _, reason := range validation.IsDNS1123Subdomain(group) {
		errs = append(errs, field.Invalid(path, group, "must specify a valid API Group: "+reason))
	}
	return errs
}
