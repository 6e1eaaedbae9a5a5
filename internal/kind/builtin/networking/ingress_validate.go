package networking

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// classAnnotation named the class of an ingress before spec.ingressClassName existed.
const classAnnotation = "kubernetes.io/ingress.class"

// ingressFields has the names, as errors show them, of the fields that have different names in different versions.
type ingressFields struct {
	defaultBackend                    string // in the spec
	serviceName, portName, portNumber string // in a backend
}

var (
	hubFields = &ingressFields{defaultBackend: "defaultBackend",
		serviceName: "service.name", portName: "service.port.name", portNumber: "service.port.number"}
	oldFields = &ingressFields{defaultBackend: "backend",
		serviceName: "serviceName", portName: "servicePort", portNumber: "servicePort"}
)

func validateIngress(in, old *networkingv1.Ingress, sub string) field.ErrorList {
	if sub == "status" {
		return validateIngressStatus(in, old)
	}
	fields := hubFields
	_, inOldVersion := oldIngresses[in.APIVersion]
	if inOldVersion {
		fields = oldFields
	}
	spec, path := &in.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Invalid(path, spec.Rules,
			fmt.Sprintf("either `%s` or `rules` must be specified", fields.defaultBackend)))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, fields.validateBackend(spec.DefaultBackend, path.Child(fields.defaultBackend))...)
	}
	anyWildcardRule, anySecretName := inOldVersion || hasBadWildcardRule(old), inOldVersion || hasBadSecretName(old)
	errs = append(errs, fields.validateRules(spec.Rules, anyWildcardRule, path.Child("rules"))...)
	errs = append(errs, validateTLS(spec.TLS, anySecretName, path.Child("tls"))...)
	class := spec.IngressClassName
	if class != nil {
		errs = append(errs, fieldcheck.Invalid(path.Child("ingressClassName"), *class,
			apivalidation.NameIsDNSSubdomain(*class, false))...)
	}
	if annotated, ok := in.Annotations[classAnnotation]; old == nil && ok && class != nil && annotated != *class {
		errs = append(errs, field.Invalid(field.NewPath("annotations").Child(classAnnotation), annotated,
			"must match `ingressClassName` when both are specified"))
	}
	return errs
}

// hasBadWildcardRule and hasBadSecretName report whether an ingress was stored under older, weaker rules: those of
// old versions. Its updates may retain these values.

func hasBadWildcardRule(old *networkingv1.Ingress) bool {
	return old != nil && slices.ContainsFunc(old.Spec.Rules, func(r networkingv1.IngressRule) bool {
		return strings.Contains(r.Host, "*") && len(hubFields.validateHTTP(r.HTTP, nil)) > 0
	})
}

func hasBadSecretName(old *networkingv1.Ingress) bool {
	return old != nil && slices.ContainsFunc(old.Spec.TLS, func(t networkingv1.IngressTLS) bool {
		return len(validateSecretName(t.SecretName, nil)) > 0
	})
}

// validateRules validates the rules of an ingress. If lenient is set, rules for wildcard hosts may have invalid paths.
func (f *ingressFields) validateRules(rules []networkingv1.IngressRule, lenient bool,
	path *field.Path) (errs field.ErrorList) {
	for i, rule := range rules {
		if len(errs) >= enough {
			return errs
		}
		at := path.Index(i)
		if rule.Host != "" {
			if netutils.ParseIPSloppy(rule.Host) != nil {
				errs = append(errs, field.Invalid(at.Child("host"), rule.Host, "must be a DNS name, not an IP address"))
			}
			errs = append(errs, validateHost(rule.Host, at.Child("host"))...)
		}
		if !lenient || !strings.Contains(rule.Host, "*") {
			errs = append(errs, f.validateHTTP(rule.HTTP, at.Child("http"))...)
		}
	}
	return errs
}

// validateHost validates a host name, or a wildcard for a domain: *.example.com.
func validateHost(host string, path *field.Path) field.ErrorList {
	if strings.Contains(host, "*") {
		return fieldcheck.Invalid(path, host, validation.IsWildcardDNS1123Subdomain(host))
	}
	return fieldcheck.Invalid(path, host, validation.IsDNS1123Subdomain(host))
}

func (f *ingressFields) validateHTTP(http *networkingv1.HTTPIngressRuleValue,
	path *field.Path) (errs field.ErrorList) {
	if http == nil {
		return nil
	}
	if len(http.Paths) == 0 {
		errs = append(errs, field.Required(path.Child("paths"), ""))
	}
	for i := range http.Paths {
		if len(errs) >= enough {
			return errs
		}
		errs = append(errs, f.validatePath(&http.Paths[i], path.Child("paths").Index(i))...)
	}
	return errs
}

func (f *ingressFields) validatePath(p *networkingv1.HTTPIngressPath, path *field.Path) (errs field.ErrorList) {
	if p.PathType == nil {
		return field.ErrorList{field.Required(path.Child("pathType"), "pathType must be specified")}
	}
	at := path.Child("path")
	absolute := strings.HasPrefix(p.Path, "/")
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if !absolute {
			errs = append(errs, field.Invalid(at, p.Path, "must be an absolute path"))
		}
		errs = append(errs, validateElements(p.Path, at)...)
	case networkingv1.PathTypeImplementationSpecific:
		if !absolute && p.Path != "" {
			errs = append(errs, field.Invalid(at, p.Path, "must be an absolute path"))
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("pathType"), *p.PathType, []networkingv1.PathType{
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix,
		}))
	}
	return append(errs, f.validateBackend(&p.Backend, path.Child("backend"))...)
}

// validateElements rejects paths that a proxy would resolve to others.
func validateElements(p string, path *field.Path) (errs field.ErrorList) {
	for _, sequence := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(p, sequence) {
			errs = append(errs, field.Invalid(path, p, fmt.Sprintf("must not contain '%s'", sequence)))
		}
	}
	for _, end := range []string{"/..", "/."} {
		if strings.HasSuffix(p, end) {
			errs = append(errs, field.Invalid(path, p, fmt.Sprintf("cannot end with '%s'", end)))
		}
	}
	return errs
}

func (f *ingressFields) validateBackend(b *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return validateReference(b.Resource.APIGroup, b.Resource.Kind, b.Resource.Name, path.Child("resource"))
	case b.Service != nil:
		return f.validateServiceBackend(b.Service, path)
	}
	return field.ErrorList{field.Invalid(path, "", "resource or service backend is required")}
}

func (f *ingressFields) validateServiceBackend(s *networkingv1.IngressServiceBackend,
	path *field.Path) (errs field.ErrorList) {
	name := path.Child(f.serviceName)
	if s.Name == "" {
		errs = append(errs, field.Required(name, ""))
	} else {
		errs = append(errs, fieldcheck.Invalid(name, s.Name, apivalidation.NameIsDNSLabel(s.Name, false))...)
	}
	switch {
	case s.Port.Name != "" && s.Port.Number != 0:
		errs = append(errs, field.Invalid(path, "", "cannot set both port name & port number"))
	case s.Port.Name != "":
		errs = append(errs, fieldcheck.Invalid(path.Child(f.portName), s.Port.Name,
			validation.IsValidPortName(s.Port.Name))...)
	case s.Port.Number != 0:
		errs = append(errs, fieldcheck.Invalid(path.Child(f.portNumber), s.Port.Number,
			validation.IsValidPortNum(int(s.Port.Number)))...)
	default:
		errs = append(errs, field.Required(path, "port name or number is required"))
	}
	return errs
}

// validateReference validates a reference to an object of any kind.
func validateReference(group *string, kind, name string, path *field.Path) (errs field.ErrorList) {
	if group != nil {
		errs = append(errs, fieldcheck.Invalid(path.Child("apiGroup"), *group,
			validation.IsDNS1123Subdomain(*group))...)
	}
	for _, part := range []struct{ field, value string }{{"kind", kind}, {"name", name}} {
		if part.value == "" {
			errs = append(errs, field.Required(path.Child(part.field), ""))
		} else {
			errs = append(errs, fieldcheck.Invalid(path.Child(part.field), part.value,
				content.IsPathSegmentName(part.value))...)
		}
	}
	return errs
}

func validateTLS(tls []networkingv1.IngressTLS, lenient bool, path *field.Path) (errs field.ErrorList) {
	for i, t := range tls {
		for j, host := range t.Hosts {
			if len(errs) >= enough {
				return errs
			}
			errs = append(errs, validateHost(host, path.Index(i).Child("hosts").Index(j))...)
		}
		if len(errs) >= enough {
			return errs
		}
		if !lenient {
			errs = append(errs, validateSecretName(t.SecretName, path.Index(i).Child("secretName"))...)
		}
	}
	return errs
}

func validateSecretName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	return fieldcheck.Invalid(path, name, apivalidation.NameIsDNSSubdomain(name, false))
}

// validateIngressStatus validates the addresses of an ingress, which its controller sets.
func validateIngressStatus(in, old *networkingv1.Ingress) (errs field.ErrorList) {
	before := map[string]bool{"": true}
	for _, point := range old.Status.LoadBalancer.Ingress {
		before[point.IP] = true
	}
	for i, point := range in.Status.LoadBalancer.Ingress {
		if len(errs) >= enough {
			return errs
		}
		at := pointsPath.Index(i)
		if !before[point.IP] {
			errs = append(errs, validation.IsValidIPForLegacyField(at.Child("ip"), point.IP, true, nil)...)
		}
		if point.Hostname == "" {
			continue
		}
		errs = append(errs, fieldcheck.Invalid(at.Child("hostname"), point.Hostname,
			validation.IsDNS1123Subdomain(point.Hostname))...)
		if netutils.ParseIPSloppy(point.Hostname) != nil {
			errs = append(errs, field.Invalid(at.Child("hostname"), point.Hostname,
				"must be a DNS name, not an IP address"))
		}
	}
	return errs
}

var pointsPath = field.NewPath("status", "loadBalancer", "ingress")

// ingressWarnings warns about the deprecated annotation in a new ingress.
func ingressWarnings(in, old *networkingv1.Ingress) []string {
	if _, ok := in.Annotations[classAnnotation]; old != nil || !ok || in.Spec.IngressClassName != nil {
		return nil
	}
	return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead",
		classAnnotation)}
}

// ingressStatusWarnings warns about addresses that are not in canonical form.
func ingressStatusWarnings(in *networkingv1.Ingress) (warnings []string) {
	for i, point := range in.Status.LoadBalancer.Ingress {
		if len(warnings) >= enough {
			return warnings
		}
		// An update may retain an invalid address, for which GetWarningsForIP would log a programming error.
		if netutils.ParseIPSloppy(point.IP) != nil {
			warnings = append(warnings, validation.GetWarningsForIP(pointsPath.Index(i), point.IP)...)
		}
	}
	return warnings
}
