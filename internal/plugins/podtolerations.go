package plugins

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/admission"
)

// The annotations of a namespace with the tolerations that its pods get, and those that they may have.
const (
	namespaceTolerations = "scheduler.alpha.kubernetes.io/defaultTolerations"
	namespaceTolerable   = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// tolerationRules is the configuration of RestrictTolerations for namespaces without annotations, in Kubernetes'
// format.
type tolerationRules struct {
	metav1.TypeMeta `json:""`
	Default         []corev1.Toleration `json:"default,omitempty"`
	Whitelist       []corev1.Toleration `json:"whitelist,omitempty"`
}

// check returns an error for each wrong field.
func (c *tolerationRules) check() error {
	var errs field.ErrorList
	for name, list := range map[string][]corev1.Toleration{"default": c.Default, "whitelist": c.Whitelist} {
		for i, t := range list {
			path := field.NewPath(name).Index(i)
			operators := []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}
			if t.Operator != "" && !slices.Contains(operators, t.Operator) {
				errs = append(errs, field.NotSupported(path.Child("operator"), t.Operator, operators))
			}
			effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
				corev1.TaintEffectNoExecute}
			if t.Effect != "" && !slices.Contains(effects, t.Effect) {
				errs = append(errs, field.NotSupported(path.Child("effect"), t.Effect, effects))
			}
		}
	}
	return errs.ToAggregate()
}

// RestrictTolerations adds the tolerations of their namespace to new pods, and rejects pods with tolerations that their
// namespace does not permit (Kubernetes' PodTolerationRestriction). It is off by default.
type RestrictTolerations struct{ rules tolerationRules }

// Name implements admission.Plugin.
func (RestrictTolerations) Name() string { return "PodTolerationRestriction" }

// Handles implements admission.Plugin.
func (RestrictTolerations) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "" && (op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin.
func (p RestrictTolerations) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	var added []corev1.Toleration
	if a.Operation == admission.Create {
		ns, err := namespaceOf(ctx, a, state)
		if err != nil {
			return err
		}
		annotated, found, err := annotatedTolerations(ns, namespaceTolerations)
		if err != nil {
			return err
		}
		if added = p.rules.Default; found {
			added = annotated
		}
	}
	if !isBestEffort(pod) {
		added = append(slices.Clip(added), corev1.Toleration{Key: corev1.TaintNodeMemoryPressure,
			Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	if len(pod.Spec.Tolerations)+len(added) > maxTolerations {
		return tooManyTolerations(a)
	}
	if len(added) > 0 {
		pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, added)
	}
	return p.Validate(ctx, a, state)
}

// Validate implements admission.Plugin.
func (p RestrictTolerations) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || len(pod.Spec.Tolerations) == 0 {
		return nil
	}
	ns, err := namespaceOf(ctx, a, state)
	if err != nil {
		return err
	}
	permitted, found, err := annotatedTolerations(ns, namespaceTolerable)
	if err != nil {
		return err
	}
	scope := "namespace"
	if !found {
		permitted, scope = p.rules.Whitelist, "cluster"
	}
	if len(permitted) == 0 {
		return nil
	}
	if max(len(pod.Spec.Tolerations), len(permitted)) > maxTolerations {
		return tooManyTolerations(a)
	}
	for _, t := range pod.Spec.Tolerations {
		if !slices.ContainsFunc(permitted, func(p corev1.Toleration) bool { return covers(p, t) }) {
			return unknownError("pod tolerations (possibly merged with namespace default tolerations) conflict with its %s "+
				"whitelist", scope)
		}
	}
	return nil
}

// tooManyTolerations returns the error for tolerations that take too long to compare. Kubernetes has no limit.
func tooManyTolerations(a *admission.Attributes) error {
	return a.Forbidden("the pod or its namespace has too many tolerations: at most %d are compared", maxTolerations)
}

// annotatedTolerations returns the tolerations in an annotation, and whether the namespace has it.
func annotatedTolerations(ns *corev1.Namespace, key string) (list []corev1.Toleration, found bool, err error) {
	text, found := ns.Annotations[key]
	if text == "" {
		return nil, found, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, false, unknownError("%v", err)
	}
	return list, list != nil, nil // null counts as no annotation
}

// isBestEffort reports whether a pod has neither requests nor limits of CPU and memory.
func isBestEffort(pod *corev1.Pod) bool {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass == corev1.PodQOSBestEffort
	}
	none := func(r *corev1.ResourceRequirements) bool {
		for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
			if list.Cpu().Sign() > 0 || list.Memory().Sign() > 0 {
				return false
			}
		}
		return true
	}
	if r := pod.Spec.Resources; r != nil && !none(r) {
		return false
	}
	uses := func(c corev1.Container) bool { return !none(&c.Resources) }
	return !slices.ContainsFunc(pod.Spec.Containers, uses) && !slices.ContainsFunc(pod.Spec.InitContainers, uses)
}
