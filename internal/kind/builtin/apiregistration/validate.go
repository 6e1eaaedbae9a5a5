package apiregistration

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

const (
	maxGroupPriority   = 20000
	maxVersionPriority = 1000
)

// validate implements ValidateAPIService and ValidateAPIServiceStatusUpdate.
func validate(s, _ *apiregistrationv1.APIService, sub string) field.ErrorList {
	if sub == "status" {
		return validateStatus(&s.Status, field.NewPath("status"))
	}
	spec, at := &s.Spec, field.NewPath("spec")
	errs := validateName(s)
	if spec.Group == "" && spec.Version != "v1" {
		errs = append(errs, field.Required(at.Child("group"),
			"only v1 may have an empty group and it better be legacy kube"))
	}
	if spec.Group != "" {
		errs = append(errs, fieldcheck.Subdomain(at.Child("group"), spec.Group)...)
	}
	errs = append(errs,
		fieldcheck.Invalid(at.Child("version"), spec.Version, validation.IsDNS1035Label(spec.Version))...)
	errs = append(errs, priority(at.Child("groupPriorityMinimum"), spec.GroupPriorityMinimum, maxGroupPriority)...)
	errs = append(errs, priority(at.Child("versionPriority"), spec.VersionPriority, maxVersionPriority)...)
	if spec.Service == nil {
		return append(errs, validateLocal(spec, at)...)
	}
	return append(errs, validateRemote(spec, at)...)
}

// validateName requires the name VERSION.GROUP, which as in Kubernetes also a name to generate others from must be. The
// server has validated that there is a name, and that it can be in a path.
func validateName(s *apiregistrationv1.APIService) (errs field.ErrorList) {
	want := s.Spec.Version + "." + s.Spec.Group
	for _, f := range []struct{ field, value string }{{"generateName", s.GenerateName}, {"name", s.Name}} {
		if f.value != "" && f.value != want && len(content.IsPathSegmentName(f.value)) == 0 {
			errs = append(errs, field.Invalid(field.NewPath("metadata", f.field), f.value,
				fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", want)))
		}
	}
	return errs
}

func priority(at *field.Path, value int32, most int32) field.ErrorList {
	if value > 0 && value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(at, value, fmt.Sprintf("must be positive and less than %d", most))}
}

// validateLocal validates an APIService of this server.
func validateLocal(spec *apiregistrationv1.APIServiceSpec, at *field.Path) (errs field.ErrorList) {
	if n := len(spec.CABundle); n > 0 {
		errs = append(errs, field.Invalid(at.Child("caBundle"), fmt.Sprintf("%d bytes", n),
			"local APIServices may not have a caBundle"))
	}
	if spec.InsecureSkipTLSVerify {
		errs = append(errs, field.Invalid(at.Child("insecureSkipTLSVerify"), true,
			"local APIServices may not have insecureSkipTLSVerify"))
	}
	return errs
}

// validateRemote validates an APIService of another server.
func validateRemote(spec *apiregistrationv1.APIServiceSpec, at *field.Path) field.ErrorList {
	service, of := spec.Service, at.Child("service")
	errs := fieldcheck.Required(of.Child("namespace"), service.Namespace, "")
	errs = append(errs, fieldcheck.Required(of.Child("name"), service.Name, "")...)
	if port := *service.Port; len(validation.IsValidPortNum(int(port))) > 0 {
		errs = append(errs, field.Invalid(of.Child("port"), port,
			"port is not valid: "+strings.Join(validation.IsValidPortNum(int(port)), ", ")))
	}
	if spec.InsecureSkipTLSVerify && len(spec.CABundle) > 0 {
		errs = append(errs, field.Invalid(at.Child("insecureSkipTLSVerify"), true,
			"may not be true if caBundle is present"))
	}
	return errs
}

func validateStatus(status *apiregistrationv1.APIServiceStatus, at *field.Path) (errs field.ErrorList) {
	for i, c := range status.Conditions {
		errs = append(errs, fieldcheck.OneOf(at.Child("conditions").Index(i).Child("status"), c.Status,
			apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown)...)
	}
	return errs
}
