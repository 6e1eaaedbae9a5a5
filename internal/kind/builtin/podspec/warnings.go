package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// Warnings warns about valid fields that are probably mistakes. Updates have no warnings, because programs
// make them.
func Warnings(pod, old *corev1.Pod) []string {
	if old != nil {
		return nil
	}
	var warnings []string
	if messages := validation.IsDNS1123Label(pod.Name); len(messages) > 0 {
		warnings = append(warnings, fmt.Sprintf(
			"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", messages))
	}
	return append(warnings, specWarnings(nil, &pod.Spec, &pod.ObjectMeta)...)
}

// EarlyWarnings warns about annotations of a new pod that Prepare replaces by fields. As in Kubernetes, these warnings
// are sent even if the pod is invalid.
func EarlyWarnings(pod *corev1.Pod) []string {
	w := &warner{}
	at := field.NewPath("metadata", "annotations")
	eachAppArmorAnnotation(pod, func(_ *corev1.Container, key string, _ *corev1.AppArmorProfile) {
		w.add(at.Key(key), "%s", useAppArmorProfile)
	})
	return w.warnings
}

// StatusWarnings warns about addresses that are not in canonical form.
func StatusWarnings(pod *corev1.Pod) (warnings []string) {
	path := field.NewPath("status")
	for i, ip := range pod.Status.PodIPs {
		warnings = append(warnings, validation.GetWarningsForIP(path.Child("podIPs").Index(i).Child("ip"), ip.IP)...)
	}
	for i, ip := range pod.Status.HostIPs {
		warnings = append(warnings, validation.GetWarningsForIP(path.Child("hostIPs").Index(i).Child("ip"), ip.IP)...)
	}
	return warnings
}

// TemplateWarnings returns the warnings about a workload's pod template; path is its path.
func TemplateWarnings(template *corev1.PodTemplateSpec, path *field.Path) []string {
	return specWarnings(path, &template.Spec, &template.ObjectMeta)
}

// warner collects warnings, each prefixed with the path of its field.
type warner struct {
	spec     *corev1.PodSpec
	meta     *metav1.ObjectMeta
	path     *field.Path // of the spec
	at       *field.Path // of the object with the spec; nil for a pod
	warnings []string
}

func (w *warner) add(path *field.Path, format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf("%s: %s", path, fmt.Sprintf(format, args...)))
}

func specWarnings(at *field.Path, spec *corev1.PodSpec, meta *metav1.ObjectMeta) []string {
	w := &warner{spec: spec, meta: meta, path: at.Child("spec"), at: at}
	w.nodeLabels()
	w.annotations()
	w.volumes()
	w.tokenPaths()
	w.duplicates()
	w.fractions(w.path.Child("overhead"), spec.Overhead)
	eachContainer(spec, w.path, w.container)
	w.ports()
	if spec.TerminationGracePeriodSeconds != nil && *spec.TerminationGracePeriodSeconds < 0 {
		w.add(w.path.Child("terminationGracePeriodSeconds"),
			"must be >= 0; negative values are invalid and will be treated as 1")
	}
	w.affinity()
	return w.warnings
}

func (w *warner) nodeLabels() {
	for _, key := range fieldcheck.SortedKeys(w.spec.NodeSelector) {
		if message, ok := DeprecatedNodeLabel(key); ok {
			w.add(w.path.Child("nodeSelector").Key(key), "%s", message)
		}
	}
	if a := w.spec.Affinity; a != nil && a.NodeAffinity != nil {
		at := w.path.Child("affinity", "nodeAffinity")
		if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			for i := range required.NodeSelectorTerms {
				w.nodeTerm(&required.NodeSelectorTerms[i], at.Child(requiredField, "nodeSelectorTerms").Index(i))
			}
		}
		for i := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			w.nodeTerm(&a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference,
				at.Child(preferredField).Index(i).Child("preference"))
		}
	}
	for i, c := range w.spec.TopologySpreadConstraints {
		at := w.path.Child("topologySpreadConstraints").Index(i)
		if message, ok := DeprecatedNodeLabel(c.TopologyKey); ok {
			w.add(at.Child("topologyKey"), "%s is %s", c.TopologyKey, message)
		}
		if c.LabelSelector == nil {
			w.add(at.Child("labelSelector"), matchesNothing)
		}
	}
}

// affinity warns about terms that match no pod.
func (w *warner) affinity() {
	a, at := w.spec.Affinity, w.path.Child("affinity")
	if a == nil {
		return
	}
	if p := a.PodAffinity; p != nil {
		w.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution,
			at.Child("podAffinity"))
	}
	if p := a.PodAntiAffinity; p != nil {
		w.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution,
			at.Child("podAntiAffinity"))
	}
}

const matchesNothing = "a null labelSelector results in matching no pod"

func (w *warner) podTerms(required []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm,
	path *field.Path) {
	for i := range required {
		if required[i].LabelSelector == nil {
			w.add(path.Child(requiredField).Index(i).Child("labelSelector"), matchesNothing)
		}
	}
	for i := range weighted {
		if weighted[i].PodAffinityTerm.LabelSelector == nil {
			w.add(path.Child(preferredField).Index(i).Child("podAffinityTerm", "labelSelector"), matchesNothing)
		}
	}
}

func (w *warner) nodeTerm(term *corev1.NodeSelectorTerm, path *field.Path) {
	for i := range term.MatchExpressions {
		key := term.MatchExpressions[i].Key
		if message, ok := DeprecatedNodeLabel(key); ok {
			w.add(path.Child("matchExpressions").Index(i).Child("key"), "%s is %s", key, message)
		}
	}
}

// deprecatedAnnotations have no effect any more.
var deprecatedAnnotations = []struct{ key, message string }{
	{"scheduler.alpha.kubernetes.io/critical-pod",
		`non-functional in v1.16+; use the "priorityClassName" field instead`},
	{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
}

const useAppArmorProfile = `deprecated since v1.30; use the "appArmorProfile" field instead`

const seccompAnnotation = `non-functional in v1.27+; use the "seccompProfile" field instead`

func (w *warner) annotations() {
	if len(w.meta.Annotations) == 0 {
		return
	}
	at := w.at.Child("metadata", "annotations")
	for _, d := range deprecatedAnnotations {
		if _, ok := w.meta.Annotations[d.key]; ok {
			w.add(at.Key(d.key), "%s", d.message)
		}
	}
	if _, ok := w.meta.Annotations[corev1.SeccompPodAnnotationKey]; ok &&
		(w.spec.SecurityContext == nil || w.spec.SecurityContext.SeccompProfile == nil) {
		w.add(at.Key(corev1.SeccompPodAnnotationKey), "%s", seccompAnnotation)
	}
	eachContainer(w.spec, w.path, func(c *corev1.Container, _ *field.Path) { w.profileAnnotations(c, at) })
}

func (w *warner) profileAnnotations(c *corev1.Container, at *field.Path) {
	key := corev1.SeccompContainerAnnotationKeyPrefix + c.Name
	if _, ok := w.meta.Annotations[key]; ok && (c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil) {
		w.add(at.Key(key), "%s", seccompAnnotation)
	}
	if w.at == nil {
		return // EarlyWarnings returns those of a pod
	}
	if key, _, ok := appArmorAnnotation(w.meta.Annotations, w.spec, c); ok {
		w.add(at.Key(key), "%s", useAppArmorProfile)
	}
}

func (w *warner) duplicates() {
	aliases := w.spec.HostAliases
	for i, a := range aliases {
		if slices.ContainsFunc(aliases[:i], func(o corev1.HostAlias) bool { return o.IP == a.IP }) {
			w.add(w.path.Child("hostAliases").Index(i).Child("ip"), "duplicate ip %q", a.IP)
		}
	}
	secrets := w.spec.ImagePullSecrets
	for i, s := range secrets {
		at := w.path.Child("imagePullSecrets").Index(i).Child("name")
		if slices.Contains(secrets[:i], s) {
			w.add(at, "duplicate name %q", s.Name)
		}
		if s.Name == "" {
			w.add(at, "invalid empty name %q", s.Name)
		}
	}
}

// fractions warns about fractions of a byte.
func (w *warner) fractions(path *field.Path, list corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if q, ok := list[name]; ok && q.MilliValue()%1000 != 0 {
			w.add(path.Key(string(name)), "fractional byte value %q is invalid, must be an integer", q.String())
		}
	}
}

func (w *warner) container(c *corev1.Container, path *field.Path) {
	w.fractions(path.Child("resources", "limits"), c.Resources.Limits)
	w.fractions(path.Child("resources", "requests"), c.Resources.Requests)
	for i, v := range c.Env {
		before := slices.ContainsFunc(c.Env[:i], func(o corev1.EnvVar) bool { return o.Name == v.Name })
		reference := "$(" + v.Name + ")"
		if before && (v.ValueFrom != nil || v.Value == reference || !strings.Contains(v.Value, reference)) {
			w.add(path.Child("env").Index(i), "hides previous definition of %q, which may be dropped when using apply",
				v.Name)
		}
	}
}

// ports warns about duplicate ports.
func (w *warner) ports() {
	type declared struct {
		path *field.Path
		corev1.ContainerPort
	}
	var all []declared
	eachContainer(w.spec, w.path, func(c *corev1.Container, path *field.Path) {
		for i, p := range c.Ports {
			at := path.Child("ports").Index(i)
			if p.HostIP != "" && p.HostPort == 0 {
				w.add(at, "hostIP set without hostPort: %+v", p)
			}
			for _, o := range all {
				if o.ContainerPort.ContainerPort != p.ContainerPort || o.Protocol != p.Protocol {
					continue
				}
				switch anywhere := p.HostIP == "" || o.HostIP == ""; {
				case p.HostIP == o.HostIP && p.HostPort == o.HostPort:
					w.add(at, "duplicate port definition with %s", o.path)
				case p.HostPort == 0 || o.HostPort == 0:
					w.add(at, "overlapping port definition with %s", o.path)
				case anywhere && p.HostPort == o.HostPort:
					w.add(at, "dangerously ambiguous port definition with %s", o.path)
				}
			}
			all = append(all, declared{at, p})
		}
	})
}
