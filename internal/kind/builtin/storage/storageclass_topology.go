package storage

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateTopologies validates the topologies of a class, and reports each one that equals an earlier one. As in
// Kubernetes, each empty topology is reported.
func validateTopologies(terms []corev1.TopologySelectorTerm, path *field.Path) (errs field.ErrorList) {
	seen := map[string]bool{"": true}
	for i := range terms {
		if len(errs) >= maxErrors {
			break
		}
		at := path.Index(i).Child("matchLabelExpressions")
		errs = append(errs, validateTopology(terms[i].MatchLabelExpressions, at)...)
		id := topologyID(terms[i].MatchLabelExpressions)
		if seen[id] {
			errs = append(errs, field.Duplicate(at, ""))
		}
		seen[id] = true
	}
	return errs
}

func validateTopology(requirements []corev1.TopologySelectorLabelRequirement, path *field.Path) (errs field.ErrorList) {
	keys := map[string]bool{}
	for i := range requirements {
		if len(errs) >= maxErrors {
			break
		}
		r, at := &requirements[i], path.Index(i)
		errs = append(errs, validateTopologyValues(r.Values, at.Child("values"))...)
		errs = append(errs, metavalidation.ValidateLabelName(r.Key, at.Child("key"))...)
		if keys[r.Key] {
			errs = append(errs, field.Duplicate(at.Child("key"), r.Key))
		}
		keys[r.Key] = true
	}
	return errs
}

func validateTopologyValues(values []string, path *field.Path) (errs field.ErrorList) {
	if len(values) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	seen := make(map[string]bool, len(values))
	for i, value := range values {
		if seen[value] && len(errs) < maxErrors {
			errs = append(errs, field.Duplicate(path.Index(i), value))
		}
		seen[value] = true
	}
	return errs
}

// topologyID returns the same string for equal topologies. The order of keys and values does not matter. Of
// requirements with the same key, only the last one counts.
func topologyID(requirements []corev1.TopologySelectorLabelRequirement) string {
	values := make(map[string][]string, len(requirements))
	for _, r := range requirements {
		values[r.Key] = r.Values
	}
	var id strings.Builder
	for _, key := range fieldcheck.SortedKeys(values) {
		fmt.Fprintf(&id, "%q:%q;", key, slices.Compact(slices.Sorted(slices.Values(values[key]))))
	}
	return id.String()
}
