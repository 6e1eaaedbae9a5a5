package plugins

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/pod-security-admission/api"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// The limits of checking the existing pods of a namespace whose enforced level is changed, as in Kubernetes. The check
// also takes at most half of the time that is left for the request.
const (
	maxPodsToCheck = 3000
	maxPodsTime    = time.Second
)

// labelled returns the policy that the labels of a namespace ask for, with an error for each invalid label. An
// unknown level counts as restricted if it is to be enforced and otherwise as privileged, an unknown version as the
// latest.
func (p PodSecurity) labelled(ns *corev1.Namespace) (api.Policy, field.ErrorList) {
	return api.PolicyToEvaluate(ns.Labels, p.policy())
}

// validateLabels rejects invalid labels of a namespace, unless it had them before, and warns of existing pods
// that violate a stricter level or another version.
func (p PodSecurity) validateLabels(ctx context.Context, a *admission.Attributes, ns *corev1.Namespace,
	state admission.Reader) error {
	security, errs := p.labelled(ns)
	old, updates := a.Old.(*corev1.Namespace)
	updates = updates && old != nil
	var before api.Policy
	var had field.ErrorList
	if updates {
		before, had = p.labelled(old)
	}
	if len(errs) > 0 && !reflect.DeepEqual(errs, had) {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Namespace"}, a.Name, errs)
	}
	if a.Warn == nil {
		return nil
	}
	exempt := slices.Contains(p.namespaces, ns.Name)
	if text := p.exemptWarning(ns, security); !updates && exempt && text != "" {
		a.Warn(text)
	}
	is, was := security.Enforce, before.Enforce
	if !updates || is == was || is.Level == api.LevelPrivileged ||
		is.Version == was.Version && api.CompareLevels(is.Level, was.Level) < 1 {
		return nil
	}
	if exempt {
		if text := p.exemptWarning(ns, security); text != "" {
			a.Warn(text)
		}
		return nil
	}
	for _, text := range p.existingViolations(ctx, state, ns.Name, is) {
		a.Warn(text)
	}
	return nil
}

// existingViolations returns the warnings about the pods of a namespace that violate a level.
func (p PodSecurity) existingViolations(ctx context.Context, state admission.Reader, namespace string,
	level api.LevelVersion) []string {
	limit := maxPodsTime
	if deadline, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := podCheck{level: level, exempt: p.exemptsRuntime, violating: map[string]violators{}}
	if err := c.list(ctx, state, namespace); err != nil {
		return []string{"failed to list pods while checking new PodSecurity enforce level"}
	}
	return c.warnings(namespace)
}

// podCheck is the check of the pods of a namespace.
type podCheck struct {
	level api.LevelVersion
	// exempt reports whether a pod is not checked.
	exempt func(*corev1.PodSpec) bool
	// total counts the pods that were listed, and more is set if there may be others.
	total, checked int
	more           bool
	// violating has the pods with the same violations, by these.
	violating map[string]violators
}

// violators are pods with the same violations: the first one's name, and how many there are.
type violators struct {
	first string
	count int
}

// list checks the pods of a namespace until a limit is reached. It checks one pod of each controller before the others,
// because the pods of a controller are alike.
func (c *podCheck) list(ctx context.Context, state admission.Reader, namespace string) error {
	owners := map[types.UID]bool{}
	var others []*corev1.Pod
	var failed error
	err := state.List(ctx, pods, namespace, func(obj kind.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return true
		}
		if c.exempt(&pod.Spec) {
			return true
		}
		c.total++
		if owner := metav1.GetControllerOfNoCopy(pod); owner == nil || !owners[owner.UID] {
			if owner != nil {
				owners[owner.UID] = true
			}
			failed = c.check(pod)
		} else if len(others) < maxPodsToCheck {
			others = append(others, pod)
		}
		c.more = ctx.Err() != nil
		return failed == nil && !c.more
	})
	if err != nil {
		return err
	}
	for _, pod := range others {
		if failed != nil || ctx.Err() != nil {
			break
		}
		failed = c.check(pod)
	}
	return failed
}

// check checks a pod, unless the limit is reached.
func (c *podCheck) check(pod *corev1.Pod) error {
	if c.checked == maxPodsToCheck {
		return nil
	}
	c.checked++
	result, err := checkSecurity(c.level, &pod.ObjectMeta, &pod.Spec)
	if err != nil || result.Allowed {
		return err
	}
	reason := result.ForbiddenReason()
	v := c.violating[reason]
	if v.count == 0 || pod.Name < v.first {
		v.first = pod.Name
	}
	v.count++
	c.violating[reason] = v
	return nil
}

// warnings returns a text for each set of violations, after those about the check as a whole.
func (c *podCheck) warnings(namespace string) (texts []string) {
	if c.more || c.checked < c.total {
		total := strconv.Itoa(c.total)
		if c.more {
			total = "at least " + total
		}
		texts = append(texts, fmt.Sprintf(
			"new PodSecurity enforce level only checked against the first %d of %s existing pods", c.checked, total))
	}
	if len(c.violating) == 0 {
		return texts
	}
	texts = append(texts, fmt.Sprintf(
		"existing pods in namespace %q violate the new PodSecurity enforce level %q", namespace, c.level.String()))
	var each []string
	for reason, v := range c.violating {
		switch v.count {
		case 1:
			each = append(each, v.first+": "+reason)
		case 2:
			each = append(each, v.first+" (and 1 other pod): "+reason)
		default:
			each = append(each, fmt.Sprintf("%s (and %d other pods): %s", v.first, v.count-1, reason))
		}
	}
	slices.Sort(each)
	return append(texts, each...)
}
