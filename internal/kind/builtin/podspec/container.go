package podspec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateContainers validates the regular containers of a pod, of which there must be at least one.
func validateContainers(s *podScope, path *field.Path) (errs field.ErrorList) {
	if len(s.spec.Containers) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	names := make(map[string]bool, len(s.spec.Containers))
	for i := range s.spec.Containers {
		c, at := &s.spec.Containers[i], path.Index(i)
		errs = append(errs, validateContainer(s, c, at)...)
		if names[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names[c.Name] = true
		errs = append(errs, validateProbes(s, c, at)...)
		errs = append(errs, validateRestartRules(s, c, at)...)
	}
	return append(errs, validateHostPorts(s.spec.Containers, path)...)
}

// validateInitContainers validates the init containers. One that always restarts is a sidecar, which may have
// the fields of regular containers.
func validateInitContainers(s *podScope, path *field.Path) (errs field.ErrorList) {
	if len(s.spec.InitContainers) == 0 {
		return nil
	}
	names := containerNames(s.spec.Containers)
	for i := range s.spec.InitContainers {
		c, at := &s.spec.InitContainers[i], path.Index(i)
		errs = append(errs, validateContainer(s, c, at)...)
		errs = append(errs, validateRestartRules(s, c, at)...)
		if c.Name != "" && names[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names[c.Name] = true
		errs = append(errs, validateHostPorts(s.spec.InitContainers[i:i+1], path)...)
		if IsSidecar(c) {
			errs = append(errs, validateProbes(s, c, at)...)
			continue
		}
		errs = append(errs, forbidOnInit(c, at)...)
		errs = append(errs, validateInitResizePolicy(s, c, at.Child("resizePolicy"))...)
	}
	return errs
}

// eachContainer calls visit for all containers with their paths, in Kubernetes' order: init containers first.
func eachContainer(spec *corev1.PodSpec, path *field.Path, visit func(*corev1.Container, *field.Path)) {
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i], path.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i], path.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		visit((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon),
			path.Child("ephemeralContainers").Index(i))
	}
}

// IsSidecar reports whether an init container keeps running alongside the regular containers.
func IsSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// forbidOnInit rejects fields that only apply to containers that keep running.
func forbidOnInit(c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	refuse := func(name string, set bool) {
		if set {
			errs = append(errs, field.Forbidden(path.Child(name),
				"may not be set for init containers without restartPolicy=Always"))
		}
	}
	refuse("lifecycle", c.Lifecycle != nil)
	refuse("livenessProbe", c.LivenessProbe != nil)
	refuse("readinessProbe", c.ReadinessProbe != nil)
	refuse("startupProbe", c.StartupProbe != nil)
	return errs
}

// containerNames returns the names of containers as a set.
func containerNames(list []corev1.Container) map[string]bool {
	names := make(map[string]bool, len(list))
	for i := range list {
		names[list[i].Name] = true
	}
	return names
}

func hasContainer(list []corev1.Container, name string) bool {
	return slices.ContainsFunc(list, func(c corev1.Container) bool { return c.Name == name })
}

// validateContainer validates the fields that all types of containers have.
func validateContainer(s *podScope, c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	errs = append(errs, fieldcheck.Name(path.Child("name"), c.Name)...)
	errs = append(errs, fieldcheck.Required(path.Child("image"), c.Image, "")...)
	errs = append(errs, fieldcheck.Choice(path.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, validatePorts(c.Ports, path.Child("ports"))...)
	errs = append(errs, validateEnv(c.Env, path.Child("env"))...)
	errs = append(errs, validateEnvFrom(c.EnvFrom, path.Child("envFrom"))...)
	errs = append(errs, validateMounts(s, c, path.Child("volumeMounts"))...)
	errs = append(errs, validateDevices(s, c, path.Child("volumeDevices"))...)
	errs = append(errs, fieldcheck.Choice(path.Child("imagePullPolicy"), c.ImagePullPolicy,
		corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	errs = append(errs, validateResources(&c.Resources, containerResourceName, s.spec.ResourceClaims,
		path.Child("resources"))...)
	errs = append(errs, validateResizePolicy(s, c, path.Child("resizePolicy"))...)
	return append(errs, validateSecurity(s, c.SecurityContext, path.Child("securityContext"))...)
}

// validateImageSpaces applies to pods but not to templates, which may have " " as a placeholder for an image.
func validateImageSpaces(list []corev1.Container, path *field.Path) (errs field.ErrorList) {
	for i := range list {
		errs = append(errs, fieldcheck.NoSpaces(path.Index(i).Child("image"), list[i].Image)...)
	}
	return errs
}

func validatePorts(ports []corev1.ContainerPort, path *field.Path) (errs field.ErrorList) {
	for i := range ports {
		p, at := &ports[i], path.Index(i)
		errs = append(errs, validatePortName(ports[:i], p.Name, at.Child("name"))...)
		if p.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, fieldcheck.Invalid(at.Child("containerPort"), p.ContainerPort,
				validation.IsValidPortNum(int(p.ContainerPort)))...)
		}
		if p.HostPort != 0 {
			errs = append(errs, fieldcheck.Invalid(at.Child("hostPort"), p.HostPort,
				validation.IsValidPortNum(int(p.HostPort)))...)
		}
		errs = append(errs, fieldcheck.Choice(at.Child("protocol"), p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP,
			corev1.ProtocolUDP)...)
	}
	return errs
}

func validatePortName(before []corev1.ContainerPort, name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	if errs := fieldcheck.Invalid(path, name, validation.IsValidPortName(name)); errs != nil {
		return errs
	}
	if slices.ContainsFunc(before, func(p corev1.ContainerPort) bool { return p.Name == name }) {
		return field.ErrorList{field.Duplicate(path, name)}
	}
	return nil
}

// validateHostPorts rejects host ports that two containers use.
func validateHostPorts(list []corev1.Container, path *field.Path) (errs field.ErrorList) {
	taken := map[string]bool{}
	for c := range list {
		for p := range list[c].Ports {
			port := &list[c].Ports[p]
			if port.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if taken[key] {
				errs = append(errs, field.Duplicate(path.Index(c).Child("ports").Index(p).Child("hostPort"), key))
			}
			taken[key] = true
		}
	}
	return errs
}

// validateHostNetworkPorts checks that ports equal host ports in a pod on the host's network. A template may
// omit host ports, which are set when a pod is created.
func validateHostNetworkPorts(s *podScope, path *field.Path) (errs field.ErrorList) {
	if !s.spec.HostNetwork {
		return nil
	}
	for c := range s.spec.Containers {
		for p, port := range s.spec.Containers[c].Ports {
			if (s.isPod() || port.HostPort != 0) && port.HostPort != port.ContainerPort {
				errs = append(errs, field.Invalid(path.Index(c).Child("ports").Index(p).Child("hostPort"),
					port.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	return errs
}
