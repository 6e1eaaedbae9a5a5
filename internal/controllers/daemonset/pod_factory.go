package daemonset

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// podFactory builds the pods of a set's current template, and recognizes them.
type podFactory struct {
	set *appsv1.DaemonSet
	// hash and generation are the values of the labels that identify pods of the current template.
	hash, generation string
	// observed are the set's pods; podByName returns a pod of the namespace, or nil.
	observed  []*corev1.Pod
	podByName func(name string) *corev1.Pod
}

// creations returns the creations of the current template's pods on nodes. Each of them checks first that
// its node is still eligible.
func (f *podFactory) creations(nodes []string, eligible eligibility) (creates action.Parallel) {
	template := f.set.Spec.Template.DeepCopy()
	template.Spec.Tolerations = templateTolerations(&template.Spec)
	// a selector without required labels, such as DoesNotExist, permits a template without labels
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = f.hash
	if f.generation != "" {
		template.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey] = f.generation
	}
	used := map[string]bool{}
	for _, node := range nodes {
		name := f.nameOn(node, used)
		pod := pods.New(template, f.set, kind, name)
		pod.Spec.Affinity = restrictToNode(pod.Spec.Affinity, node)
		create := action.Create[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: action.Events{
			Object: f.set, Reason: "SuccessfulCreate", Message: "Created pod: " + name,
			FailureReason: "FailedCreate", FailurePrefix: "Error creating: ",
		}}
		creates = append(creates, nodeGuard{create, eligible, node,
			nodeMatch{exists: true, shouldRun: true, mayRun: true}})
	}
	return creates
}

// nameOn returns the first free name for the current template's pod on a node and adds it to used, the names
// used in this run.
func (f *podFactory) nameOn(node string, used map[string]bool) string {
	for n := 0; ; n++ {
		name := pods.NameForKey(f.set, node, f.hash, n)
		if f.nameIsFree(name) && !used[name] {
			used[name] = true
			return name
		}
	}
}

// nameIsFree reports whether a name can be used for a new pod: no pod has it, or the pod is the set's but was not
// observed yet, so that the creation is the same one.
func (f *podFactory) nameIsFree(name string) bool {
	pod := f.podByName(name)
	return pod == nil || metav1.IsControlledBy(pod, f.set) &&
		!slices.ContainsFunc(f.observed, func(p *corev1.Pod) bool { return p.UID == pod.UID })
}

// isCurrent reports whether a pod is of the current template. Pods that predate the hash label are identified by
// the template generation.
func (f *podFactory) isCurrent(pod *corev1.Pod) bool {
	return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == f.hash ||
		f.generation != "" && pod.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey] == f.generation
}

// generationOf returns the template generation in the set's deprecated annotation, or "" if there is none.
func generationOf(set *appsv1.DaemonSet) string {
	number, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// hashOf returns the label value that identifies the pods of a revision: the revision's own label or, if that
// was removed, the suffix of its name.
func hashOf(set *appsv1.DaemonSet, r *appsv1.ControllerRevision) string {
	return cmp.Or(r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], strings.TrimPrefix(r.Name, set.Name+"-"))
}
