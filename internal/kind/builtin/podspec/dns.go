package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// Limits of name resolution. Source: resolv.conf(5), and the search list limits in Kubernetes' documentation.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
)

// validateDNSConfig validates the resolver configuration of a pod. With dnsPolicy None it must have a
// nameserver.
func validateDNSConfig(s *podScope, path *field.Path) (errs field.ErrorList) {
	config := s.spec.DNSConfig
	if s.spec.DNSPolicy == corev1.DNSNone {
		if config == nil {
			return field.ErrorList{field.Required(path,
				fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone))}
		}
		if len(config.Nameservers) == 0 {
			return field.ErrorList{field.Required(path.Child("nameservers"),
				fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone))}
		}
	}
	if config == nil {
		return nil
	}
	servers := path.Child("nameservers")
	if len(config.Nameservers) > maxNameservers {
		errs = append(errs, field.Invalid(servers, config.Nameservers,
			fmt.Sprintf("must not have more than %v nameservers", maxNameservers)))
	}
	for i, server := range config.Nameservers {
		errs = append(errs, podIP(s, servers.Index(i), server)...)
	}
	errs = append(errs, validateSearches(config.Searches, path.Child("searches"))...)
	for i, option := range config.Options {
		errs = append(errs, fieldcheck.Required(path.Child("options").Index(i), option.Name, "must not be empty")...)
	}
	return errs
}

func validateSearches(searches []string, path *field.Path) (errs field.ErrorList) {
	if len(searches) > maxSearches {
		errs = append(errs, field.Invalid(path, searches,
			fmt.Sprintf("must not have more than %v search paths", maxSearches)))
	}
	if len(strings.Join(searches, " ")) > maxSearchChars {
		errs = append(errs, field.Invalid(path, searches,
			fmt.Sprintf("must not have more than %v characters (including spaces) in the search list", maxSearchChars)))
	}
	for i, search := range searches {
		if search == "." {
			continue
		}
		search = strings.TrimSuffix(search, ".")
		errs = append(errs, fieldcheck.Invalid(path.Index(i), search,
			validation.IsDNS1123SubdomainWithUnderscore(search))...)
	}
	return errs
}

func validateHostAliases(aliases []corev1.HostAlias, path *field.Path) (errs field.ErrorList) {
	for i, alias := range aliases {
		at := path.Index(i)
		errs = append(errs, validation.IsValidIPForLegacyField(at.Child("ip"), alias.IP, true, nil)...)
		for n, name := range alias.Hostnames {
			errs = append(errs, fieldcheck.Subdomain(at.Child("hostnames").Index(n), name)...)
		}
	}
	return errs
}

// podIP validates an address. Addresses of the old pod may have a legacy form.
func podIP(s *podScope, path *field.Path, ip string) field.ErrorList {
	var allowed []string
	if s.old != nil && s.old.DNSConfig != nil {
		allowed = s.old.DNSConfig.Nameservers
	}
	return validation.IsValidIPForLegacyField(path, ip, true, allowed)
}
