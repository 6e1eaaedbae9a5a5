package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// applyAppArmorAnnotations sets the AppArmor profiles of containers that have theirs in an annotation only.
func applyAppArmorAnnotations(pod *corev1.Pod) {
	eachAppArmorAnnotation(pod, func(c *corev1.Container, _ string, profile *corev1.AppArmorProfile) {
		if profile == nil {
			return
		}
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		c.SecurityContext.AppArmorProfile = profile
	})
}

// eachAppArmorAnnotation visits the containers of a new pod whose AppArmor profile is in an annotation only, with the
// key of the annotation and its profile; nil if the annotation is invalid. Pods for Windows have no profiles.
func eachAppArmorAnnotation(pod *corev1.Pod, visit func(c *corev1.Container, key string, p *corev1.AppArmorProfile)) {
	if len(pod.Annotations) == 0 || pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return
	}
	eachContainer(&pod.Spec, nil, func(c *corev1.Container, _ *field.Path) {
		if key, profile, ok := appArmorAnnotation(pod.Annotations, &pod.Spec, c); ok {
			visit(c, key, profile)
		}
	})
}

// appArmorAnnotation returns the key of the annotation with the AppArmor profile of a container, and the profile; nil
// if the annotation is invalid. ok is false if there is no annotation, if the container has a profile, or if the
// annotation has the same profile as the pod.
func appArmorAnnotation(annotations map[string]string, spec *corev1.PodSpec,
	c *corev1.Container) (key string, profile *corev1.AppArmorProfile, ok bool) {
	if c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
		return "", nil, false
	}
	key = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
	value, ok := annotations[key]
	if !ok {
		return "", nil, false
	}
	profile = appArmorProfile(value)
	same := profile != nil && spec.SecurityContext != nil &&
		equality.Semantic.DeepEqual(profile, spec.SecurityContext.AppArmorProfile)
	return key, profile, !same
}

// appArmorProfile returns the profile that the value of an annotation stands for, or nil.
func appArmorProfile(value string) *corev1.AppArmorProfile {
	name, local := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case value == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case local:
		p := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
		if len(validateAppArmor(p, nil)) == 0 {
			return p
		}
	}
	return nil
}
