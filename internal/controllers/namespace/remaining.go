package namespace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/discovery"
)

// remaining is what is left in a namespace after a pass, and why.
type remaining struct {
	// objects counts the remaining objects by resource, finalizers their finalizers.
	objects, finalizers map[string]int
	// discovery and deletion are the errors of either step.
	discovery []error
	deletion  []error
}

// add counts an object.
func (r *remaining) add(resource discovery.Resource, obj metav1.Object) {
	if r.objects == nil {
		r.objects, r.finalizers = map[string]int{}, map[string]int{}
	}
	r.objects[resource.Resource+"."+resource.Group]++
	for _, finalizer := range obj.GetFinalizers() {
		r.finalizers[finalizer]++
	}
}

// addError records an error about a resource; nil is ignored.
func (r *remaining) addError(resource discovery.Resource, err error) {
	if err != nil {
		r.deletion = append(r.deletion, fmt.Errorf("%s: %w", resource.GroupResource(), err))
	}
}

// hasObjects reports whether objects are left.
func (r *remaining) hasObjects() bool { return len(r.objects) > 0 }

// String returns a summary of what is left.
func (r *remaining) String() string {
	switch {
	case !r.hasObjects() && r.failure() != nil:
		return "its contents are unknown"
	case !r.hasObjects():
		return "it is empty"
	}
	return formatCounts(r.objects, " has ")
}

// failure returns all errors, or nil.
func (r *remaining) failure() error {
	return errors.Join(errors.Join(r.discovery...), errors.Join(r.deletion...))
}

// conditions returns the namespace's conditions, in Kubernetes' wording, which scripts compare.
func (r *remaining) conditions() []corev1.NamespaceCondition {
	return []corev1.NamespaceCondition{
		condition(corev1.NamespaceDeletionDiscoveryFailure, len(r.discovery) > 0,
			"DiscoveryFailed", fmt.Sprintf("Discovery failed for some groups, %d failing: %v", len(r.discovery),
				joinErrors(r.discovery)),
			"ResourcesDiscovered", "All resources successfully discovered"),
		condition(corev1.NamespaceDeletionGVParsingFailure, false, "", "",
			"ParsedGroupVersions", "All legacy kube types successfully parsed"),
		condition(corev1.NamespaceDeletionContentFailure, len(r.deletion) > 0,
			"ContentDeletionFailed", fmt.Sprintf("Failed to delete all resource types, %d remaining: %v",
				len(r.deletion), joinErrors(r.deletion)),
			"ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
		condition(corev1.NamespaceContentRemaining, len(r.objects) > 0,
			"SomeResourcesRemain", "Some resources are remaining: "+formatCounts(r.objects, " has "),
			"ContentRemoved", "All content successfully removed"),
		condition(corev1.NamespaceFinalizersRemaining, len(r.finalizers) > 0,
			"SomeFinalizersRemain",
			"Some content in the namespace has finalizers remaining: "+formatCounts(r.finalizers,
				" in "),
			"ContentHasNoFinalizers", "All content-preserving finalizers finished"),
	}
}

// condition returns a condition with the reason and message of either case.
func condition(kind corev1.NamespaceConditionType, bad bool, badReason, badMessage, goodReason,
	goodMessage string) corev1.NamespaceCondition {
	if bad {
		return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionTrue, Reason: badReason,
			Message: badMessage}
	}
	return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionFalse, Reason: goodReason,
		Message: goodMessage}
}

// joinErrors formats errors in one line, sorted so that the condition does not change with their order.
func joinErrors(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// formatCounts formats the counts, sorted by name.
func formatCounts(counts map[string]int, between string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s%s%d resource instances", name, between, counts[name]))
	}
	return strings.Join(texts, ", ")
}

// setCondition sets a condition, with the time of its last transition, and reports whether anything changed.
func setCondition(status *corev1.NamespaceStatus, c corev1.NamespaceCondition) bool {
	at := slices.IndexFunc(status.Conditions, func(old corev1.NamespaceCondition) bool { return old.Type == c.Type })
	c.LastTransitionTime = metav1.Now()
	if at < 0 {
		status.Conditions = append(status.Conditions, c)
		return true
	}
	old := status.Conditions[at]
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	status.Conditions[at] = c
	return cmp.Or(old.Status != c.Status, old.Reason != c.Reason, old.Message != c.Message)
}
