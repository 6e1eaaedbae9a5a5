package flowcontrol

import (
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// wildcard stands for all values of a list.
const wildcard = "*"

// verbs are the verbs of requests, in the order in which error messages list them.
var verbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}

func validateRule(rule *flowcontrolv1.PolicyRulesWithSubjects, path *field.Path) (errs field.ErrorList) {
	for i := range rule.Subjects {
		errs = append(errs, validateSubject(&rule.Subjects[i], path.Child("subjects").Index(i))...)
	}
	if len(rule.Subjects) == 0 {
		errs = append(errs, field.Required(path.Child("subjects"), "subjects must contain at least one value"))
	}
	if len(rule.ResourceRules) == 0 && len(rule.NonResourceRules) == 0 {
		errs = append(errs, field.Required(path,
			"at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
	for i := range rule.ResourceRules {
		errs = append(errs, validateResources(&rule.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range rule.NonResourceRules {
		errs = append(errs, validateURLs(&rule.NonResourceRules[i], path.Child("nonResourceRules").Index(i))...)
	}
	return errs
}

// validateSubject requires the field for the kind of the subject, and rejects the fields for other kinds.
func validateSubject(s *flowcontrolv1.Subject, path *field.Path) (errs field.ErrorList) {
	user, group, account := path.Child("user"), path.Child("group"), path.Child("serviceAccount")
	switch s.Kind {
	case flowcontrolv1.SubjectKindServiceAccount:
		errs = validateAccount(s.ServiceAccount, account)
	case flowcontrolv1.SubjectKindUser:
		if s.User == nil {
			errs = field.ErrorList{field.Required(user, "user is required when subject kind is 'User'")}
		} else {
			errs = fieldcheck.Required(user.Child("name"), s.User.Name, "")
		}
	case flowcontrolv1.SubjectKindGroup:
		if s.Group == nil {
			errs = field.ErrorList{field.Required(group, "group is required when subject kind is 'Group'")}
		} else {
			errs = fieldcheck.Required(group.Child("name"), s.Group.Name, "")
		}
	default:
		return field.ErrorList{field.NotSupported(path.Child("kind"), s.Kind, []flowcontrolv1.SubjectKind{
			flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser})}
	}
	if s.ServiceAccount != nil && s.Kind != flowcontrolv1.SubjectKindServiceAccount {
		errs = append(errs, field.Forbidden(account,
			"serviceAccount is forbidden when subject kind is not 'ServiceAccount'"))
	}
	if s.User != nil && s.Kind != flowcontrolv1.SubjectKindUser {
		errs = append(errs, field.Forbidden(user, "user is forbidden when subject kind is not 'User'"))
	}
	if s.Group != nil && s.Kind != flowcontrolv1.SubjectKindGroup {
		errs = append(errs, field.Forbidden(group, "group is forbidden when subject kind is not 'Group'"))
	}
	return errs
}

func validateAccount(s *flowcontrolv1.ServiceAccountSubject, path *field.Path) (errs field.ErrorList) {
	if s == nil {
		return field.ErrorList{field.Required(path,
			"serviceAccount is required when subject kind is 'ServiceAccount'")}
	}
	switch s.Name {
	case "":
		errs = field.ErrorList{field.Required(path.Child("name"), "")}
	case wildcard:
	default:
		errs = fieldcheck.ObjectName(path.Child("name"), s.Name, false)
	}
	if s.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), "must specify namespace for service account"))
	}
	return append(errs, fieldcheck.Invalid(path.Child("namespace"), s.Namespace,
		apivalidation.ValidateNamespaceName(s.Namespace, false))...)
}

func validateResources(rule *flowcontrolv1.ResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := validateVerbs(rule.Verbs, path.Child("verbs"))
	groups, resources, namespaces := path.Child("apiGroups"), path.Child("resources"), path.Child("namespaces")
	if len(rule.APIGroups) == 0 {
		errs = append(errs, field.Required(groups, "resource rules must supply at least one api group"))
	}
	errs = append(errs, onlyWildcard(rule.APIGroups, "api groups", groups)...)
	if len(rule.Resources) == 0 {
		errs = append(errs, field.Required(resources, "resource rules must supply at least one resource"))
	}
	errs = append(errs, onlyWildcard(rule.Resources, "resources", resources)...)
	if len(rule.Namespaces) == 0 && !rule.ClusterScope {
		errs = append(errs, field.Required(namespaces,
			"resource rules that are not cluster scoped must supply at least one namespace"))
	}
	if slices.Contains(rule.Namespaces, wildcard) {
		return append(errs, onlyWildcard(rule.Namespaces, "namespaces", namespaces)...)
	}
	for i, ns := range rule.Namespaces {
		for _, problem := range apivalidation.ValidateNamespaceName(ns, false) {
			errs = append(errs, field.Invalid(namespaces.Index(i), ns,
				"each member of this list must be '*' or a DNS-1123 label; "+problem))
		}
	}
	return errs
}

func validateURLs(rule *flowcontrolv1.NonResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := validateVerbs(rule.Verbs, path.Child("verbs"))
	urls := path.Child("nonResourceURLs")
	switch {
	case len(rule.NonResourceURLs) == 0:
		return append(errs, field.Required(urls, "nonResourceURLs must contain at least one value"))
	case slices.Contains(rule.NonResourceURLs, wildcard):
		return append(errs, onlyWildcard(rule.NonResourceURLs, "non-resource URLs", urls)...)
	}
	for i, url := range rule.NonResourceURLs {
		if problem := urlProblem(url); problem != "" {
			errs = append(errs, field.Invalid(urls.Index(i), url, problem))
		}
	}
	return errs
}

func validateVerbs(values []string, path *field.Path) field.ErrorList {
	unsupported := func(verb string) bool { return !slices.Contains(verbs, verb) }
	switch {
	case len(values) == 0:
		return field.ErrorList{field.Required(path, "verbs must contain at least one value")}
	case slices.Contains(values, wildcard):
		return onlyWildcard(values, "verbs", path)
	case slices.ContainsFunc(values, unsupported):
		return field.ErrorList{field.NotSupported(path, values, verbs)}
	}
	return nil
}

// onlyWildcard rejects other values beside a wildcard.
func onlyWildcard(values []string, others string, path *field.Path) field.ErrorList {
	if len(values) > 1 && slices.Contains(values, wildcard) {
		return field.ErrorList{field.Invalid(path, values, "if '*' is present, must not specify other "+others)}
	}
	return nil
}

// urlProblem returns the reason why the path of a URL is invalid, or "" if it is valid.
func urlProblem(url string) string {
	switch stars := strings.Count(url, wildcard); {
	case url == "":
		return "must not be empty"
	case !strings.HasPrefix(url, "/"):
		return "must start with slash"
	case strings.Contains(url, " "):
		return "must not contain white-space"
	case strings.Contains(url, "//"):
		return "must not contain double slash"
	case stars > 1 || stars == 1 && !strings.HasSuffix(url, "/"+wildcard):
		return "wildcard can only do suffix matching"
	}
	return ""
}
