package podspec

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// podScope is the context of a pod spec. A spec in a workload's template has fewer rules than one in a pod,
// because pods created from it are defaulted and validated again.
type podScope struct {
	// meta is the pod's own metadata, or nil in a template.
	meta *metav1.ObjectMeta
	// spec is the whole spec, for rules that involve several fields.
	spec *corev1.PodSpec
	// old is the spec that an update replaces, or nil. Some of its violations remain allowed.
	old *corev1.PodSpec
	// volumes are the valid volumes by name, for mounts.
	volumes map[string]*corev1.VolumeSource
}

func (s *podScope) isPod() bool { return s.meta != nil }

// hostUsers reports whether the pod shares the host's user namespace, which is the default.
func (s *podScope) hostUsers() bool { return s.spec.HostUsers == nil || *s.spec.HostUsers }

// Validate returns the errors of a create or an update of a pod, through a subresource or not.
func Validate(pod, old *corev1.Pod, sub string) field.ErrorList {
	switch {
	case old == nil:
		return validatePodCreate(pod)
	case sub == "status":
		return validatePodStatusUpdate(pod, old)
	case sub == "ephemeralcontainers":
		return validateEphemeralUpdate(pod, old)
	case sub == "resize":
		return validateResize(pod, old)
	case sub == "binding":
		return nil
	}
	return validatePodUpdate(pod, old)
}

func validatePodCreate(pod *corev1.Pod) field.ErrorList {
	errs := validateWholePod(pod, nil)
	spec := field.NewPath("spec")
	if len(pod.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("ephemeralContainers"), "cannot be set on create"))
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) != 0 {
		errs = append(errs, field.Forbidden(spec.Child("nodeName"),
			"cannot be set until all schedulingGates have been cleared"))
	}
	return append(errs, validateProfileAnnotations(pod.Annotations, &pod.Spec, spec)...)
}

// validateWholePod validates the current state of a pod.
func validateWholePod(pod, old *corev1.Pod) field.ErrorList {
	scope := &podScope{meta: &pod.ObjectMeta, spec: &pod.Spec}
	if old != nil {
		scope.old = &old.Spec
	}
	errs := validatePodAnnotations(pod.Annotations, &pod.Spec, field.NewPath("metadata", "annotations"))
	path := field.NewPath("spec")
	errs = append(errs, validatePodSpec(scope, path)...)
	errs = append(errs, validateTokenVolumes(&pod.Spec, path.Child("volumes"))...)
	errs = append(errs, validateImageSpaces(pod.Spec.Containers, path.Child("containers"))...)
	return append(errs, validateImageSpaces(pod.Spec.InitContainers, path.Child("initContainers"))...)
}

// ValidateTemplate returns the errors of a workload's pod template; path is its path. old is the template
// that an update replaces, or nil.
func ValidateTemplate(template, old *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	scope := &podScope{spec: &template.Spec}
	if old != nil {
		scope.old = &old.Spec
	}
	spec := path.Child("spec")
	errs := metavalidation.ValidateLabels(template.Labels, path.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(template.Annotations, path.Child("annotations"))...)
	errs = append(errs, validatePodAnnotations(template.Annotations, &template.Spec, path.Child("annotations"))...)
	errs = append(errs, validatePodSpec(scope, spec)...)
	errs = append(errs, validateProfileAnnotations(template.Annotations, &template.Spec, spec)...)
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("ephemeralContainers"),
			"ephemeral containers not allowed in pod template"))
	}
	return errs
}

// ValidateLongRunning checks that the pods of a template run until the workload deletes them. workload is its
// kind.
func ValidateLongRunning(template *corev1.PodTemplateSpec, path *field.Path, workload string) (errs field.ErrorList) {
	spec := path.Child("spec")
	if p := template.Spec.RestartPolicy; p != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(spec.Child("restartPolicy"), p,
			[]corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(spec.Child("activeDeadlineSeconds"),
			"activeDeadlineSeconds in "+workload+" is not Supported"))
	}
	return errs
}

// validatePodSpec validates the parts of a pod spec, in the order of Kubernetes' errors.
func validatePodSpec(s *podScope, path *field.Path) (errs field.ErrorList) {
	spec := s.spec
	if spec.TerminationGracePeriodSeconds == nil {
		errs = append(errs, field.Required(path.Child("terminationGracePeriodSeconds"), ""))
	}
	errs = append(errs, validateVolumes(s, path.Child("volumes"))...)
	errs = append(errs, validatePodClaims(spec.ResourceClaims, path.Child("resourceClaims"))...)
	errs = append(errs, validateContainers(s, path.Child("containers"))...)
	errs = append(errs, validateInitContainers(s, path.Child("initContainers"))...)
	errs = append(errs, validateEphemeralContainers(s, path.Child("ephemeralContainers"))...)
	errs = append(errs, validatePodResources(s, path.Child("resources"))...)
	errs = append(errs, validateHostNetworkPorts(s, path.Child("containers"))...)
	errs = append(errs, fieldcheck.Choice(path.Child("restartPolicy"), spec.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	errs = append(errs, fieldcheck.Choice(path.Child("dnsPolicy"), spec.DNSPolicy,
		corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)...)
	errs = append(errs, metavalidation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector"))...)
	errs = append(errs, validatePodSecurity(s, path.Child("securityContext"))...)
	errs = append(errs, validateAffinity(s, path.Child("affinity"))...)
	errs = append(errs, validateDNSConfig(s, path.Child("dnsConfig"))...)
	errs = append(errs, validateGates(spec, path)...)
	errs = append(errs, validateSpread(s, path.Child("topologySpreadConstraints"))...)
	errs = append(errs, validateHostProcess(spec, path)...)
	errs = append(errs, validateUserNamespace(s, path)...)
	errs = append(errs, validateHostnameOverride(spec, path)...)
	errs = append(errs, validatePodNames(s, path)...)
	errs = append(errs, validateTolerations(spec.Tolerations, path.Child("tolerations"))...)
	errs = append(errs, validateHostAliases(spec.HostAliases, path.Child("hostAliases"))...)
	errs = append(errs, validatePriority(spec, path)...)
	if spec.Overhead != nil {
		overhead := corev1.ResourceRequirements{Limits: spec.Overhead}
		errs = append(errs, validateResources(&overhead, containerResourceName, nil, path.Child("overhead"))...)
	}
	errs = append(errs, validateOS(spec, path)...)
	return append(errs, validateFileKeyVolumes(s, path)...)
}

// validatePodNames validates the names in a pod spec: its service account, node, and host names.
func validatePodNames(s *podScope, path *field.Path) (errs field.ErrorList) {
	spec := s.spec
	if name := spec.ServiceAccountName; name != "" {
		errs = append(errs, fieldcheck.ObjectName(path.Child("serviceAccountName"), name, false)...)
	}
	if name := spec.NodeName; name != "" {
		errs = append(errs, fieldcheck.ObjectName(path.Child("nodeName"), name, false)...)
	}
	if d := spec.ActiveDeadlineSeconds; d != nil && (*d < 1 || *d > math.MaxInt32) {
		errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), *d,
			validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	if spec.Hostname != "" {
		errs = append(errs, fieldcheck.LabelName(path.Child("hostname"), spec.Hostname)...)
	}
	if spec.Subdomain != "" {
		errs = append(errs, fieldcheck.LabelName(path.Child("subdomain"), spec.Subdomain)...)
	}
	return errs
}

// maxHostname is the maximum length of a host name on Linux.
const maxHostname = 64

// validateHostnameOverride validates PodSpec.hostnameOverride (API reference).
func validateHostnameOverride(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	if spec.HostnameOverride == nil {
		return nil
	}
	at, name := path.Child("hostnameOverride"), *spec.HostnameOverride
	if spec.SetHostnameAsFQDN != nil && *spec.SetHostnameAsFQDN {
		errs = append(errs, field.Forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
	}
	if spec.HostNetwork {
		errs = append(errs, field.Forbidden(at, "may not be specified when hostNetwork is true"))
	}
	if len(name) > maxHostname {
		errs = append(errs, field.TooLong(at, name, maxHostname))
	}
	return append(errs, fieldcheck.Subdomain(at, name)...)
}

// validatePriority validates the names of classes; admission checks whether they exist.
func validatePriority(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	if name := spec.PriorityClassName; name != "" {
		errs = append(errs, fieldcheck.ObjectName(path.Child("priorityClassName"), name, false)...)
	}
	if spec.RuntimeClassName != nil {
		errs = append(errs, fieldcheck.ObjectName(path.Child("runtimeClassName"), *spec.RuntimeClassName, false)...)
	}
	if p := spec.PreemptionPolicy; p != nil {
		errs = append(errs, fieldcheck.Choice(path.Child("preemptionPolicy"), *p, corev1.PreemptLowerPriority,
			corev1.PreemptNever)...)
	}
	return errs
}

// validateGates validates the names of readiness gates and scheduling gates.
func validateGates(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	for i, gate := range spec.ReadinessGates {
		errs = append(errs, fieldcheck.QualifiedName(path.Child("readinessGates").Index(i).Child("conditionType"),
			string(gate.ConditionType))...)
	}
	seen := map[string]bool{}
	for i, gate := range spec.SchedulingGates {
		at := path.Child("schedulingGates").Index(i)
		errs = append(errs, fieldcheck.QualifiedName(at, gate.Name)...)
		if seen[gate.Name] {
			errs = append(errs, field.Duplicate(at, gate.Name))
		}
		seen[gate.Name] = true
	}
	return errs
}
