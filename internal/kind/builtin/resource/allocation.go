package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// checkAllocation checks a new allocation of a claim; names has the requests of the claim.
func checkAllocation(a *resourcev1.AllocationResult, names requestNames, path *field.Path) (f findings) {
	devices := path.Child("devices")
	f.add(limitedList(a.Devices.Results, resourcev1.AllocationResultsMaxSize, devices.Child("results"),
		names.checkResult))
	// The list has the configurations of the claim and of its class.
	f.add(limitedList(a.Devices.Config, 2*resourcev1.DeviceConfigMaxSize, devices.Child("config"),
		names.checkAllocationConfig))
	if a.NodeSelector != nil {
		f.write(podspec.ValidateNodeSelector(a.NodeSelector, true, enough, path.Child("nodeSelector"))...)
	}
	return f
}

// checkResult checks the allocation of one device.
func (n requestNames) checkResult(r *resourcev1.DeviceRequestAllocationResult, path *field.Path) (f findings) {
	f.write(n.checkReference(path.Child("request"), r.Request)...)
	f.declare(declaredDriverName(path.Child("driver"), r.Driver)...)
	f.declare(declaredPoolName(path.Child("pool"), r.Pool)...)
	f.write(fieldcheck.LabelName(path.Child("device"), r.Device)...)
	binding := checkBinding(r.BindingConditions, r.BindingFailureConditions, path)
	f.write(binding.written...)
	f.add(eachItem(r.Tolerations, path.Child("tolerations"), checkToleration))
	f.declare(binding.declared...)
	if r.ShareID != nil {
		f.declare(format(validate.UUID[types.UID], path.Child("shareID"), *r.ShareID)...)
	}
	return f
}

func (n requestNames) checkAllocationConfig(c *resourcev1.DeviceAllocationConfiguration,
	path *field.Path) (f findings) {
	f.declare(fieldcheck.Choice(path.Child("source"), c.Source, resourcev1.AllocationConfigSourceClaim,
		resourcev1.AllocationConfigSourceClass)...)
	f.add(n.checkReferences(c.Requests, path.Child("requests")))
	f.add(checkConfig(&c.DeviceConfiguration, false, path))
	return f
}

// checkBinding checks the conditions that a scheduler waits for before it binds a pod. Conditions of success require
// conditions of failure, and vice versa; no condition may be in both lists.
func checkBinding(success, failure []string, path *field.Path) (f findings) {
	ready, failed := path.Child("bindingConditions"), path.Child("bindingFailureConditions")
	f.add(limitedList(success, resourcev1.BindingConditionsMaxSize, ready, checkConditionName))
	f.add(limitedList(failure, resourcev1.BindingFailureConditionsMaxSize, failed, checkConditionName))
	for _, i := range duplicates(success, itself) {
		f.write(field.Duplicate(ready.Index(i), success[i]))
	}
	f.write(validateFailures(success, failure, failed)...)
	if len(success) == 0 && len(failure) > 0 {
		f.write(field.Invalid(ready, success, "bindingConditions are required to use bindingFailureConditions"))
	}
	if len(failure) == 0 && len(success) > 0 {
		f.write(field.Invalid(failed, failure, "bindingFailureConditions are required to use bindingConditions"))
	}
	return f
}

func checkConditionName(name *string, path *field.Path) (f findings) {
	f.write(metavalidation.ValidateLabelName(*name, path)...)
	return f
}

// validateFailures checks that the conditions of failure differ from each other and from those of success.
func validateFailures(success, failure []string, path *field.Path) (errs field.ErrorList) {
	isSuccess, seen := map[string]bool{}, map[string]bool{}
	for _, c := range success {
		isSuccess[c] = true
	}
	for i, c := range failure {
		if len(errs) >= enough {
			break
		}
		if seen[c] {
			errs = append(errs, field.Duplicate(path.Index(i), c))
		}
		seen[c] = true
		if isSuccess[c] {
			errs = append(errs, field.Invalid(path.Index(i), c,
				"bindingFailureConditions must not overlap with bindingConditions"))
		}
	}
	return errs
}
