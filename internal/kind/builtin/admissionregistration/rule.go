package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	operations = []admissionv1.OperationType{admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create,
		admissionv1.Delete, admissionv1.Update}
	scopes = []admissionv1.ScopeType{admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope}
)

// validateRule validates a rule that selects writes for a webhook.
func validateRule(r admissionv1.RuleWithOperations, path *field.Path) (errs fieldErrors) {
	errs = append(errs, wildcardAlone(r.Operations, path.Child("operations"), "operations")...)
	for i, o := range r.Operations {
		errs = append(errs, oneOf(&o, operations, path.Child("operations").Index(i))...)
	}
	errs = append(errs, wildcardAlone(r.APIGroups, path.Child("apiGroups"), "API groups")...)
	versions := path.Child("apiVersions")
	errs = append(errs, wildcardAlone(r.APIVersions, versions, "API versions")...)
	for i, v := range r.APIVersions {
		if v == "" {
			errs = append(errs, field.Required(versions.Index(i), ""))
		}
	}
	errs = append(errs, validateResources(r.Resources, path.Child("resources"))...)
	return append(errs, oneOf(r.Scope, scopes, path.Child("scope"))...)
}

// wildcardAlone requires at least one value, and rejects * together with other values.
func wildcardAlone[T ~string](values []T, path *field.Path, what string) fieldErrors {
	switch {
	case len(values) == 0:
		return fieldErrors{field.Required(path, "")}
	case len(values) > 1 && slices.Contains(values, "*"):
		return fieldErrors{field.Invalid(path, values, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

// validateResources rejects resources and subresources that another entry covers.
func validateResources(resources []string, path *field.Path) (errs fieldErrors) {
	if len(resources) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	whole, everywhere := map[string]bool{}, map[string]bool{} // x of the entries x/* and */x
	plain := false                                            // the last entry without a subresource was a name
	for i, r := range resources {
		resource, sub, below := strings.Cut(r, "/")
		switch {
		case r == "":
			errs = append(errs, field.Required(path.Index(i), ""))
			continue
		case !below:
			plain = r != "*"
			continue
		}
		if whole[resource] {
			errs = append(errs, field.Invalid(path.Index(i), r,
				fmt.Sprintf("if '%s/*' is present, must not specify %s", resource, r)))
		}
		if everywhere[sub] {
			errs = append(errs, field.Invalid(path.Index(i), r,
				fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, r)))
		}
		whole[resource] = whole[resource] || sub == "*"
		everywhere[sub] = everywhere[sub] || resource == "*"
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		errs = append(errs, field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	}
	if plain && slices.Contains(resources, "*") {
		errs = append(errs, field.Invalid(path, resources,
			"if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}
