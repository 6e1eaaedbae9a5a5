package plugins

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// PodSecurity rejects pods that violate the level of the Pod Security Standards that a label of their namespace
// enforces, and warns of pods, and of the pod templates of controllers, that violate the level of another label. It
// works like Kubernetes' plugin: without a configuration, a namespace without labels allows everything, and nothing is
// exempt. Audit annotations are recorded in the request's trace, and the level to audit is checked only if the request
// has one.
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
	if template := templateOf(a.Object); template != nil {
		return p.validateTemplate(ctx, a, template, state)
	}
	return nil
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

// namespacePolicy is the policy of a namespace, with an error for each label that is invalid.
type namespacePolicy struct {
	api.Policy
	wrong field.ErrorList
}

// of returns the policy of a namespace; nil if the namespace does not exist.
func (p PodSecurity) of(ctx context.Context, namespace string, state admission.Reader) (*namespacePolicy, error) {
	obj, err := state.Get(ctx, namespaces, "", namespace)
	if err != nil {
		return nil, err
	}
	ns, ok := obj.(*corev1.Namespace)
	if !ok || ns == nil {
		return nil, nil
	}
	var asked namespacePolicy
	asked.Policy, asked.wrong = p.labelled(ns)
	return &asked, nil
}

// validateTemplate warns of a template that violates a level. It rejects none.
func (p PodSecurity) validateTemplate(ctx context.Context, a *admission.Attributes, template *corev1.PodTemplateSpec,
	state admission.Reader) error {
	trail := securityTrail{trace.SpanFromContext(ctx)}
	if reason := p.exemption(a.Namespace, a.User); reason != "" {
		trail.record(api.ExemptionReasonAnnotationKey, reason)
		return nil
	}
	security, err := p.of(ctx, a.Namespace, state)
	if err != nil || security == nil || len(security.wrong) == 0 && security.Warn.Level == api.LevelPrivileged &&
		security.Audit.Level == api.LevelPrivileged {
		return err
	}
	return p.check(a, trail, security, &template.ObjectMeta, &template.Spec, false)
}

// validatePod rejects a pod that violates the level that its namespace enforces.
func (p PodSecurity) validatePod(ctx context.Context, a *admission.Attributes, pod *corev1.Pod,
	state admission.Reader) error {
	trail := securityTrail{trace.SpanFromContext(ctx)}
	if reason := p.exemption(a.Namespace, a.User); reason != "" {
		trail.record(api.ExemptionReasonAnnotationKey, reason)
		return nil
	}
	security, err := p.of(ctx, a.Namespace, state)
	switch {
	case err != nil:
		return err
	case security == nil:
		return apierrors.NewInternalError(fmt.Errorf("failed to lookup namespace %q", a.Namespace))
	case len(security.wrong) == 0 && security.FullyPrivileged():
		trail.record(api.EnforcedPolicyAnnotationKey, security.Enforce.String())
		return nil
	}
	// initializers may change fields that are immutable later
	if old, ok := a.Old.(*corev1.Pod); ok && old != nil && !kind.HasInitializers(old) && !changesImages(pod, old) {
		return nil
	}
	return p.check(a, trail, security, &pod.ObjectMeta, &pod.Spec, true)
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

// check warns of a pod, or of what a template describes, that violates a level, and records the audit annotations. It
// returns an error if the pod violates the enforced level, and enforce is set.
func (p PodSecurity) check(a *admission.Attributes, trail securityTrail, security *namespacePolicy,
	meta *metav1.ObjectMeta, spec *corev1.PodSpec, enforce bool) error {
	if p.exemptsRuntime(spec) {
		trail.record(api.ExemptionReasonAnnotationKey, "runtimeClass")
		return nil
	}
	if len(security.wrong) > 0 {
		trail.record("error", fmt.Sprintf("Failed to parse policy: %v", security.wrong.ToAggregate()))
	}
	known := map[api.LevelVersion]policy.AggregateCheckResult{}
	violates := func(level api.LevelVersion) (string, error) {
		result, ok := known[level]
		if !ok {
			var err error
			if result, err = checkSecurity(level, meta, spec); err != nil {
				return "", err
			}
			known[level] = result
		}
		if result.Allowed {
			return "", nil
		}
		return fmt.Sprintf("violate PodSecurity %q: %s", level.String(), result.ForbiddenDetail()), nil
	}
	var rejected error
	if enforce {
		trail.record(api.EnforcedPolicyAnnotationKey, security.Enforce.String())
		switch text, err := violates(security.Enforce); {
		case err != nil:
			return err
		case text != "":
			rejected = a.Forbidden("violates%s", strings.TrimPrefix(text, "violate"))
		}
	}
	if trail.IsRecording() {
		switch text, err := violates(security.Audit); {
		case err != nil:
			return err
		case text != "":
			trail.record(api.AuditViolationsAnnotationKey, "would "+text)
		}
	}
	if rejected != nil || a.Warn == nil {
		return rejected
	}
	text, err := violates(security.Warn)
	if text != "" {
		a.Warn("would " + text)
	}
	return err
}

// securityTrail records audit annotations in the span of a request.
type securityTrail struct{ trace.Span }

// maxTrail is the length of a recorded value, in bytes.
const maxTrail = 10 << 10

func (t securityTrail) record(key, value string) {
	if !t.IsRecording() {
		return
	}
	if len(value) > maxTrail {
		value = strings.ToValidUTF8(value[:maxTrail], "") + "..."
	}
	t.SetAttributes(attribute.String(api.AuditAnnotationPrefix+key, value))
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
