package plugins

import (
	"context"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// PodSecurity rejects pods that violate the level of the Pod Security Standards that a label of their namespace
// enforces, and warns of pods, and of the pod templates of controllers, that violate the level of another label. It
// works like Kubernetes' plugin: without a configuration, a namespace without labels allows everything, and nothing is
// exempt. Violations of the level to audit have no effect, because there is no audit log.
type PodSecurity struct {
	// defaults is the policy for namespaces without labels; nil allows everything.
	defaults *api.Policy
	// users, namespaces and runtimes are exempt; runtimes are the names of runtime classes.
	users, namespaces, runtimes []string
}

// Name implements admission.Plugin.
func (PodSecurity) Name() string { return "PodSecurity" }

// podTemplates lists the resources of objects that controllers make pods of.
var podTemplates = map[schema.GroupResource]bool{
	{Resource: "podtemplates"}:                                    true,
	{Resource: "replicationcontrollers"}:                          true,
	{Group: appsv1.GroupName, Resource: "daemonsets"}:             true,
	{Group: appsv1.GroupName, Resource: "deployments"}:            true,
	{Group: appsv1.GroupName, Resource: "replicasets"}:            true,
	{Group: appsv1.GroupName, Resource: "statefulsets"}:           true,
	{Group: extensionsv1beta1.GroupName, Resource: "daemonsets"}:  true,
	{Group: extensionsv1beta1.GroupName, Resource: "deployments"}: true,
	{Group: extensionsv1beta1.GroupName, Resource: "replicasets"}: true,
	{Group: batchv1.GroupName, Resource: "cronjobs"}:              true,
	{Group: batchv1.GroupName, Resource: "jobs"}:                  true,
}

// Handles implements admission.Plugin.
func (PodSecurity) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	if op != admission.Create && op != admission.Update {
		return false
	}
	switch resource {
	case pods:
		return sub == "" || sub == "ephemeralcontainers" || sub == "resize"
	case namespaces:
		return sub == ""
	}
	return sub == "" && podTemplates[resource]
}

// Admit implements admission.Plugin.
func (PodSecurity) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Validate implements admission.Plugin.
func (p PodSecurity) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	switch obj := a.Object.(type) {
	case *corev1.Namespace:
		return p.validateLabels(ctx, a, obj, state)
	case *corev1.Pod:
		return p.validatePod(ctx, a, obj, state)
	}
	template := templateOf(a.Object)
	if template == nil || p.exempts(a.Namespace, a.User) {
		return nil
	}
	security, found, err := p.of(ctx, a.Namespace, state)
	if err != nil || !found {
		return err
	}
	return p.warnOfViolations(a, security.Warn, &template.ObjectMeta, &template.Spec)
}

// templateOf returns the template of a controller's pods, or nil.
func templateOf(obj kind.Object) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *corev1.PodTemplate:
		return &o.Template
	case *corev1.ReplicationController:
		return o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	}
	return nil
}

// of returns the policy of a namespace, and whether the namespace exists.
func (p PodSecurity) of(ctx context.Context, namespace string, state admission.Reader) (asked api.Policy, found bool,
	err error) {
	obj, err := state.Get(ctx, namespaces, "", namespace)
	if err != nil {
		return asked, false, err
	}
	ns, ok := obj.(*corev1.Namespace)
	if !ok || ns == nil {
		return asked, false, nil
	}
	asked, _ = p.labelled(ns)
	return asked, true, nil
}

// validatePod rejects a pod that violates the level that its namespace enforces.
func (p PodSecurity) validatePod(ctx context.Context, a *admission.Attributes, pod *corev1.Pod,
	state admission.Reader) error {
	if p.exempts(a.Namespace, a.User) {
		return nil
	}
	security, found, err := p.of(ctx, a.Namespace, state)
	switch {
	case err != nil:
		return err
	case !found:
		return apierrors.NewInternalError(fmt.Errorf("failed to lookup namespace %q", a.Namespace))
	case security.Enforce.Level == api.LevelPrivileged && security.Warn.Level == api.LevelPrivileged:
		return nil
	}
	// initializers may change fields that are immutable later
	if old, ok := a.Old.(*corev1.Pod); ok && old != nil && !kind.HasInitializers(old) && !changesImages(pod, old) {
		return nil
	}
	if p.exemptsRuntime(&pod.Spec) {
		return nil
	}
	result, err := checkSecurity(security.Enforce, &pod.ObjectMeta, &pod.Spec)
	switch {
	case err != nil:
		return err
	case !result.Allowed:
		return a.Forbidden("violates PodSecurity %q: %s", security.Enforce.String(), result.ForbiddenDetail())
	case security.Warn == security.Enforce:
		return nil
	}
	return p.warnOfViolations(a, security.Warn, &pod.ObjectMeta, &pod.Spec)
}

// changesImages reports whether an update changes the image of a container or the number of containers. Other changes
// that a pod allows do not affect its security.
func changesImages(pod, old *corev1.Pod) bool {
	sameImage := func(a, b corev1.Container) bool { return a.Image == b.Image }
	if !slices.EqualFunc(pod.Spec.Containers, old.Spec.Containers, sameImage) ||
		!slices.EqualFunc(pod.Spec.InitContainers, old.Spec.InitContainers, sameImage) {
		return true
	}
	if len(pod.Spec.EphemeralContainers) == 0 {
		return false
	}
	images := make(map[string]string, len(old.Spec.EphemeralContainers))
	for i := range old.Spec.EphemeralContainers {
		images[old.Spec.EphemeralContainers[i].Name] = old.Spec.EphemeralContainers[i].Image
	}
	return slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
		image, had := images[c.Name]
		return !had || image != c.Image
	})
}

// warnOfViolations adds a warning to the response if a pod, or what a template describes, violates a level.
func (p PodSecurity) warnOfViolations(a *admission.Attributes, level api.LevelVersion, meta *metav1.ObjectMeta,
	spec *corev1.PodSpec) error {
	if a.Warn == nil || p.exemptsRuntime(spec) {
		return nil
	}
	result, err := checkSecurity(level, meta, spec)
	if err == nil && !result.Allowed {
		a.Warn(fmt.Sprintf("would violate PodSecurity %q: %s", level.String(), result.ForbiddenDetail()))
	}
	return err
}

// securityChecks returns the checks of all levels and versions.
var securityChecks = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// checkSecurity returns what a pod violates in a level. The time is proportional to the size of the pod.
func checkSecurity(level api.LevelVersion, meta *metav1.ObjectMeta, spec *corev1.PodSpec) (
	result policy.AggregateCheckResult, err error) {
	if level.Level == api.LevelPrivileged {
		return policy.AggregateCheckResult{Allowed: true}, nil
	}
	checks, err := securityChecks()
	if err != nil {
		return result, err
	}
	return policy.AggregateCheckResults(checks.EvaluatePod(level, meta, spec)), nil
}
