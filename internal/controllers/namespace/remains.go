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

	"github.com/bowline-dev/bowline/internal/controllers/resources"
)

// remains is what is left of a namespace after deleting what is in it, and why.
type remains struct {
	// objects counts what is left, and finalizers what holds it.
	objects, finalizers map[string]int
	// discovery and deletion are what went wrong.
	discovery []error
	deletion  []error
}

// add counts an object.
func (r *remains) add(resource resources.Resource, obj metav1.Object) {
	if r.objects == nil {
		r.objects, r.finalizers = map[string]int{}, map[string]int{}
	}
	r.objects[resource.Resource+"."+resource.Group]++
	for _, finalizer := range obj.GetFinalizers() {
		r.finalizers[finalizer]++
	}
}

// failed notes what went wrong with a resource, unless nothing did.
func (r *remains) failed(resource resources.Resource, err error) {
	if err != nil {
		r.deletion = append(r.deletion, fmt.Errorf("%s: %w", resource.GroupResource(), err))
	}
}

// any says whether objects are left.
func (r *remains) any() bool { return len(r.objects) > 0 }

// String says what is left, in short.
func (r *remains) String() string {
	switch {
	case !r.any() && r.failure() != nil:
		return "what is in it cannot be said"
	case !r.any():
		return "nothing is in it"
	}
	return counted(r.objects, " has ")
}

// failure is everything that went wrong, or nil.
func (r *remains) failure() error {
	return errors.Join(errors.Join(r.discovery...), errors.Join(r.deletion...))
}

// conditions are what a namespace's status says of it, in the words of Kubernetes, which scripts look for.
func (r *remains) conditions() []corev1.NamespaceCondition {
	return []corev1.NamespaceCondition{
		condition(corev1.NamespaceDeletionDiscoveryFailure, len(r.discovery) > 0,
			"DiscoveryFailed", fmt.Sprintf("Discovery failed for some groups, %d failing: %v", len(r.discovery), joined(r.discovery)),
			"ResourcesDiscovered", "All resources successfully discovered"),
		condition(corev1.NamespaceDeletionGVParsingFailure, false, "", "",
			"ParsedGroupVersions", "All legacy kube types successfully parsed"),
		condition(corev1.NamespaceDeletionContentFailure, len(r.deletion) > 0,
			"ContentDeletionFailed", fmt.Sprintf("Failed to delete all resource types, %d remaining: %v", len(r.deletion), joined(r.deletion)),
			"ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
		condition(corev1.NamespaceContentRemaining, len(r.objects) > 0,
			"SomeResourcesRemain", "Some resources are remaining: "+counted(r.objects, " has "),
			"ContentRemoved", "All content successfully removed"),
		condition(corev1.NamespaceFinalizersRemaining, len(r.finalizers) > 0,
			"SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "+counted(r.finalizers, " in "),
			"ContentHasNoFinalizers", "All content-preserving finalizers finished"),
	}
}

// condition is one condition, with reason and message for either case.
func condition(kind corev1.NamespaceConditionType, bad bool, badReason, badMessage, goodReason, goodMessage string) corev1.NamespaceCondition {
	if bad {
		return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionTrue, Reason: badReason, Message: badMessage}
	}
	return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionFalse, Reason: goodReason, Message: goodMessage}
}

// joined prints errors in one line, in an order of their own so that a condition only changes when they do.
func joined(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// counted prints how many instances there are of what, in order.
func counted(counts map[string]int, between string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s%s%d resource instances", name, between, counts[name]))
	}
	return strings.Join(texts, ", ")
}

// setCondition puts a condition into a status, with the time at which it changed its status, and says whether that
// changed anything.
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
