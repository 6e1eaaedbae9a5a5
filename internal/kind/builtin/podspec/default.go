package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Default sets the fields of a pod that the user omitted, except for the pod-level resources. Prepare sets those,
// because admission plugins may add containers in between.
func Default(pod *corev1.Pod) {
	spec := &pod.Spec
	defaultPodSpec(spec)
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			requestsFromLimits(&list[i].Resources)
			if spec.HostNetwork {
				hostPorts(list[i].Ports)
			}
		}
	}
	if spec.EnableServiceLinks == nil {
		spec.EnableServiceLinks = new(corev1.DefaultEnableServiceLinks)
	}
	if spec.TerminationGracePeriodSeconds != nil && *spec.TerminationGracePeriodSeconds < 0 { // templates may have one
		spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	DropInitContainerAnnotations(pod.Annotations)
	normalizePodIPs(&pod.Status)
}

// DefaultTemplate sets the fields of a workload's pod template that the user omitted. It sets fewer fields
// than the defaults of a pod, because the pods created from the template are defaulted too.
func DefaultTemplate(template *corev1.PodTemplateSpec) {
	defaultPodSpec(&template.Spec)
	DropInitContainerAnnotations(template.Annotations)
}

func defaultPodSpec(spec *corev1.PodSpec) {
	if spec.DNSPolicy == "" {
		spec.DNSPolicy = corev1.DNSClusterFirst
	}
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
	if spec.SchedulerName == "" {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
	// serviceAccount is the old name of the field; both are set.
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	// Kubernetes 1.37 drops these fields, because the feature gates GenericWorkload and EvictionRequestAPI are off.
	spec.SchedulingGroup, spec.EvictionResponders = nil, nil
	RoundUp(spec.Overhead)
	if spec.Resources != nil {
		RoundUp(spec.Resources.Limits)
		RoundUp(spec.Resources.Requests)
	}
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i])
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i])
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i])
	}
	for i := range spec.EphemeralContainers {
		defaultContainer((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

func defaultContainer(c *corev1.Container) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = pullPolicyOf(c.Image)
	}
	if c.TerminationMessagePath == "" {
		c.TerminationMessagePath = corev1.TerminationMessagePathDefault
	}
	if c.TerminationMessagePolicy == "" {
		c.TerminationMessagePolicy = corev1.TerminationMessageReadFile
	}
	for i := range c.Ports {
		if c.Ports[i].Protocol == "" {
			c.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
			if from.FileKeyRef != nil && from.FileKeyRef.Optional == nil {
				from.FileKeyRef.Optional = new(false)
			}
		}
	}
	RoundUp(c.Resources.Limits)
	RoundUp(c.Resources.Requests)
	defaultProbe(c.LivenessProbe)
	defaultProbe(c.ReadinessProbe)
	defaultProbe(c.StartupProbe)
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		c.Lifecycle.StopSignal = nil // dropped: the feature gate ContainerStopSignals is off in Kubernetes 1.37
		if *c.Lifecycle == (corev1.Lifecycle{}) {
			c.Lifecycle = nil
		}
	}
	if c.Lifecycle != nil {
		defaultHook(c.Lifecycle.PostStart)
		defaultHook(c.Lifecycle.PreStop)
	}
}

func defaultProbe(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	orElse(&probe.TimeoutSeconds, 1)
	orElse(&probe.PeriodSeconds, 10)
	orElse(&probe.SuccessThreshold, 1)
	orElse(&probe.FailureThreshold, 3)
	defaultHTTPGet(probe.HTTPGet)
	if probe.GRPC != nil && probe.GRPC.Service == nil {
		probe.GRPC.Service = new("")
	}
}

func orElse(field *int32, value int32) {
	if *field == 0 {
		*field = value
	}
}

func defaultHook(hook *corev1.LifecycleHandler) {
	if hook != nil {
		defaultHTTPGet(hook.HTTPGet)
	}
}

func defaultHTTPGet(get *corev1.HTTPGetAction) {
	if get == nil {
		return
	}
	if get.Path == "" {
		get.Path = "/"
	}
	if get.Scheme == "" {
		get.Scheme = corev1.URISchemeHTTP
	}
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil && ref.APIVersion == "" {
		ref.APIVersion = "v1"
	}
}

// RoundUp rounds quantities to thousandths, the precision of the API.
func RoundUp(list corev1.ResourceList) {
	for name, q := range list {
		q.RoundUp(resource.Milli)
		list[name] = q
	}
}

// requestsFromLimits sets missing requests to the limits.
func requestsFromLimits(r *corev1.ResourceRequirements) {
	if r.Limits == nil {
		return
	}
	if r.Requests == nil {
		r.Requests = make(corev1.ResourceList, len(r.Limits))
	}
	for name, q := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			r.Requests[name] = q.DeepCopy()
		}
	}
}

// hostPorts sets the host ports of a container on the host's network.
func hostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		if ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}

// initContainerAnnotations held init containers before the field existed.
var initContainerAnnotations = []string{
	"pod.beta.kubernetes.io/init-containers",
	"pod.alpha.kubernetes.io/init-containers",
	"pod.beta.kubernetes.io/init-container-statuses",
	"pod.alpha.kubernetes.io/init-container-statuses",
}

// DropInitContainerAnnotations deletes the annotations that held init containers before the field existed.
func DropInitContainerAnnotations(annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	for _, key := range initContainerAnnotations {
		delete(annotations, key)
	}
}

// normalizePodIPs makes podIP the first of podIPs. If they differ, podIP takes precedence, because old
// kubelets set only that.
func normalizePodIPs(status *corev1.PodStatus) {
	switch {
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	case status.PodIP != "" && !slices.ContainsFunc(status.PodIPs[:min(1, len(status.PodIPs))],
		func(ip corev1.PodIP) bool { return ip.IP == status.PodIP }):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
}
