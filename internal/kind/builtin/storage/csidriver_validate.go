package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

func validateDriver(d, old *storagev1.CSIDriver, _ string) field.ErrorList {
	path := field.NewPath("spec")
	// The path of Kubernetes' errors differs from the name of the field.
	attach, modes := path.Child("attachedRequired"), path.Child("volumeLifecycleModes")
	errs := append(fieldcheck.Finalizers(d), validateDriverSpec(&d.Spec, attach, path)...)
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(d.Spec.AttachRequired, old.Spec.AttachRequired,
			attach)...)
		errs = append(errs, apivalidation.ValidateImmutableField(d.Spec.VolumeLifecycleModes,
			old.Spec.VolumeLifecycleModes, modes)...)
	}
	return errs
}

func validateDriverSpec(spec *storagev1.CSIDriverSpec, attach, path *field.Path) (errs field.ErrorList) {
	require := func(flag *bool, at *field.Path) {
		if flag == nil {
			errs = append(errs, field.Required(at, ""))
		}
	}
	require(spec.AttachRequired, attach)
	require(spec.PodInfoOnMount, path.Child("podInfoOnMount"))
	require(spec.StorageCapacity, path.Child("storageCapacity"))
	if policy := spec.FSGroupPolicy; policy != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("fsGroupPolicy"), *policy, storagev1.FileFSGroupPolicy,
			storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)...)
	}
	errs = append(errs, validateTokenRequests(spec.TokenRequests, path.Child("tokenRequests"))...)
	for _, mode := range spec.VolumeLifecycleModes {
		if len(errs) >= maxErrors {
			break
		}
		errs = append(errs, fieldcheck.OneOf(path.Child("volumeLifecycleModes"), mode,
			storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)...)
	}
	require(spec.SELinuxMount, path.Child("seLinuxMount"))
	if period := spec.NodeAllocatableUpdatePeriodSeconds; period != nil && *period < 10 {
		errs = append(errs, field.Invalid(path.Child("nodeAllocatableUpdatePeriodSeconds"), *period,
			"must be greater than or equal to 10 seconds"))
	}
	if secrets := spec.ServiceAccountTokenInSecrets; secrets != nil && len(spec.TokenRequests) == 0 {
		errs = append(errs, field.Invalid(path.Child("serviceAccountTokenInSecrets"), *secrets,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified"))
	}
	require(spec.PreventPodSchedulingIfMissing, path.Child("preventPodSchedulingIfMissing"))
	return errs
}

// The limits of the lifetime of a token, in seconds.
const (
	minTokenLifetime = 10 * 60
	maxTokenLifetime = 1 << 32
)

// validateTokenRequests allows one request for each audience.
func validateTokenRequests(requests []storagev1.TokenRequest, path *field.Path) (errs field.ErrorList) {
	audiences := map[string]bool{}
	for i, request := range requests {
		if len(errs) >= maxErrors {
			break
		}
		at := path.Index(i)
		if audiences[request.Audience] {
			errs = append(errs, field.Duplicate(at.Child("audience"), request.Audience))
			continue
		}
		audiences[request.Audience] = true
		switch lifetime := request.ExpirationSeconds; {
		case lifetime == nil:
		case *lifetime < minTokenLifetime:
			errs = append(errs, field.Invalid(at.Child("expirationSeconds"), *lifetime,
				"may not specify a duration less than 10 minutes"))
		case *lifetime > maxTokenLifetime:
			errs = append(errs, field.Invalid(at.Child("expirationSeconds"), *lifetime,
				"may not specify a duration larger than 2^32 seconds"))
		}
	}
	return errs
}

// driverWarnings recommends secrets for the tokens that a write requests.
func driverWarnings(d, old *storagev1.CSIDriver) []string {
	requests := d.Spec.TokenRequests
	if len(requests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil ||
		old != nil && equality.Semantic.DeepEqual(requests, old.Spec.TokenRequests) {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to " +
		"prevent possible logging of tokens in volume attributes"}
}
