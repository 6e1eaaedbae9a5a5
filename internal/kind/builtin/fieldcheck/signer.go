package fieldcheck

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxDomain = validation.DNS1123SubdomainMaxLength
	// maxSignerName has room for a domain, a slash, a namespace, a dot and the name of an object.
	maxSignerName = maxDomain + 1 + validation.DNS1123LabelMaxLength + 1 + validation.DNS1123SubdomainMaxLength
	// maxParsed is the maximum length of a signer name that is parsed; a longer one is only reported as too long.
	// Kubernetes also checks each of its labels, which takes a second for some megabytes.
	maxParsed = 64 << 10
)

// SignerName validates the name of a signer, such as example.com/namespace.name.
func SignerName(path *field.Path, name string) (errs field.ErrorList) {
	tooLong := field.TooLong(path, "", maxSignerName)
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "")}
	case len(name) > maxParsed:
		return field.ErrorList{tooLong}
	case strings.Count(name, "/") != 1:
		return field.ErrorList{field.Invalid(path, name,
			"must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	domain, rest, _ := strings.Cut(name, "/")
	if len(domain) > maxDomain {
		errs = append(errs, field.TooLong(path, "", maxDomain))
	}
	errs = append(errs, signerLabels(path, domain, validation.IsDNS1123Label)...)
	if !strings.Contains(domain, ".") {
		errs = append(errs, field.Invalid(path, domain,
			"should be a domain with at least two segments separated by dots"))
	}
	errs = append(errs, signerLabels(path, rest, validation.IsDNS1123Subdomain)...)
	if len(name) > maxSignerName {
		errs = append(errs, tooLong)
	}
	return errs
}

// signerLabels reports the first invalid label of a part of a signer name.
func signerLabels(path *field.Path, part string, problems func(string) []string) (errs field.ErrorList) {
	for label := range strings.SplitSeq(part, ".") {
		for _, p := range problems(label) {
			errs = append(errs, field.Invalid(path, part, fmt.Sprintf("validating label %q: %s", label, p)))
		}
		if len(errs) > 0 {
			return errs
		}
	}
	return nil
}

// IsKubernetesSigner reports whether a signer name is reserved for the Kubernetes project.
func IsKubernetesSigner(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	return domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io")
}

// UserAnnotations validates the annotations of a certificate request, whose keys must have a domain.
func UserAnnotations(path *field.Path, annotations map[string]string) (errs field.ErrorList) {
	for _, key := range SortedKeys(annotations) {
		errs = append(errs, validation.IsDomainPrefixedKey(path, strings.ToLower(key))...)
	}
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		errs = append(errs, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	}
	return errs
}
