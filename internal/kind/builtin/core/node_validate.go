package core

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// validateNode has the same rules for the node and for its status, except for the ranges of pods, in the order of
// Kubernetes' errors.
func validateNode(n, old *corev1.Node, sub string) (errs field.ErrorList) {
	errs = append(errs, fieldcheck.Finalizers(n)...)
	errs = append(errs, validateTaintAnnotation(n)...)
	errs = append(errs, validateTaints(n.Spec.Taints, field.NewPath("metadata", "taints"))...)
	errs = append(errs, validateNodeResources(n)...)
	errs = append(errs, validateDeclaredFeatures(n.Status.DeclaredFeatures)...)
	if sub == "" {
		errs = append(errs, validatePodCIDRs(n.Spec.PodCIDRs)...)
	}
	if old == nil {
		return errs
	}
	errs = append(errs, validateNodeAddresses(n.Status.Addresses)...)
	errs = append(errs, validateNodeUpdate(&n.Spec, &old.Spec)...)
	if source := configSourceOf(n); source != nil {
		errs = append(errs, validateConfigSource(source, field.NewPath("spec", "configSource"), false)...)
	}
	errs = append(errs, validateNodeConfig(n.Status.Config)...)
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "externalID"), "may not be updated"))
	}
	return errs
}

// validateTaints validates the taints of a node. Kubernetes reports errors below the metadata, where taints
// once were.
func validateTaints(taints []corev1.Taint, path *field.Path) (errs field.ErrorList) {
	type id struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[id]bool{}
	for i, t := range taints {
		at := path.Index(i)
		errs = append(errs, metavalidation.ValidateLabelName(t.Key, at.Child("key"))...)
		if msgs := validation.IsValidLabelValue(t.Value); len(msgs) > 0 {
			errs = append(errs, field.Invalid(at.Child("value"), t.Value, strings.Join(msgs, ";")))
		}
		errs = append(errs, fieldcheck.Choice(at.Child("effect"), t.Effect,
			corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		if seen[id{t.Key, t.Effect}] {
			duplicate := field.Duplicate(at, taintLayout(t))
			duplicate.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, duplicate)
		}
		seen[id{t.Key, t.Effect}] = true
	}
	return errs
}

// taintLayout formats a taint for errors as Kubernetes does, with Go field names.
func taintLayout(t corev1.Taint) any {
	return struct {
		Key, Value string
		Effect     corev1.TaintEffect
		TimeAdded  *metav1.Time
	}{t.Key, t.Value, t.Effect, t.TimeAdded}
}

// validateTaintAnnotation validates the annotation that held the taints before the field existed.
func validateTaintAnnotation(n *corev1.Node) field.ErrorList {
	value := n.Annotations[corev1.TaintsAnnotationKey]
	if value == "" {
		return nil
	}
	path := field.NewPath("metadata", "annotations")
	var taints []corev1.Taint
	if err := json.Unmarshal([]byte(value), &taints); err != nil {
		return field.ErrorList{field.Invalid(path, corev1.TaintsAnnotationKey, err.Error())}
	}
	return validateTaints(taints, path.Child(corev1.TaintsAnnotationKey))
}

func validateNodeResources(n *corev1.Node) (errs field.ErrorList) {
	for _, name := range fieldcheck.SortedKeys(n.Status.Capacity) {
		errs = append(errs, podspec.ValidateQuantity(name, n.Status.Capacity[name],
			field.NewPath("status", "capacity", string(name)))...)
	}
	for _, name := range fieldcheck.SortedKeys(n.Status.Allocatable) {
		errs = append(errs, podspec.ValidateQuantity(name, n.Status.Allocatable[name],
			field.NewPath("status", "allocatable", string(name)))...)
	}
	return errs
}

// declaredFeature matches a feature gate, and parts of its feature after slashes.
var declaredFeature = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$`)

// validateDeclaredFeatures validates the sorted names of the features that a node has.
func validateDeclaredFeatures(features []string) (errs field.ErrorList) {
	path := field.NewPath("status", "declaredFeatures")
	for i, name := range features {
		if i > 0 && name == features[i-1] {
			errs = append(errs, field.Duplicate(path.Index(i), name))
		} else if i > 0 && name < features[i-1] {
			errs = append(errs, field.Invalid(path.Index(i), name, "list must be sorted alphabetically"))
		}
		switch {
		case len(name) > validation.DNS1123SubdomainMaxLength:
			errs = append(errs, field.Invalid(path.Index(i), name,
				fmt.Sprintf("invalid feature name %q: must be no more than %d characters", name,
					validation.DNS1123SubdomainMaxLength)))
		case !declaredFeature.MatchString(name):
			errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("invalid feature name %q: must start with an "+
				"UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), "+
				"and contain only alphanumeric characters and slashes", name)))
		}
	}
	return errs
}

// validatePodCIDRs allows at most one range per IP family.
func validatePodCIDRs(cidrs []string) (errs field.ErrorList) {
	path := field.NewPath("spec", "podCIDRs")
	for i, cidr := range cidrs {
		errs = append(errs, validation.IsValidCIDRForLegacyField(path.Index(i), cidr, true, nil)...)
	}
	if len(cidrs) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackCIDRStrings(cidrs)
	if err != nil {
		errs = append(errs, field.InternalError(path,
			fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err))) // Kubernetes' text
	}
	if !dual || len(cidrs) > 2 {
		errs = append(errs, field.Invalid(path, cidrs, "may specify no more than one CIDR for each IP family"))
	}
	return errs
}

func validateNodeAddresses(addresses []corev1.NodeAddress) (errs field.ErrorList) {
	for i, a := range addresses {
		if slices.Contains(addresses[:i], a) {
			shown := struct {
				Type    corev1.NodeAddressType
				Address string
			}{a.Type, a.Address}
			errs = append(errs, field.Duplicate(field.NewPath("status", "addresses").Index(i), shown))
		}
	}
	return errs
}

// validateNodeUpdate rejects changes of the pod CIDRs and the provider ID once they are set. As in Kubernetes, errors
// do not show the provider ID.
func validateNodeUpdate(spec, old *corev1.NodeSpec) (errs field.ErrorList) {
	const podCIDR = `node updates may not change podCIDR except from "" to valid`
	path := field.NewPath("spec")
	if len(old.PodCIDRs) > 0 && len(old.PodCIDRs) != len(spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(path.Child("podCIDRs"), podCIDR))
	} else {
		for i, cidr := range old.PodCIDRs {
			if spec.PodCIDRs[i] != cidr {
				errs = append(errs, field.Forbidden(path.Child("podCIDRs"), podCIDR))
			}
		}
	}
	switch id := path.Child("providerID"); {
	case old.ProviderID == "" || old.ProviderID == spec.ProviderID:
	case spec.ProviderID == "":
		errs = append(errs, field.Invalid(id, nil, "field cannot be cleared once set"))
	default:
		errs = append(errs, field.Invalid(id, nil, "field cannot be modified once set"))
	}
	return errs
}

func validateNodeConfig(config *corev1.NodeConfigStatus) (errs field.ErrorList) {
	if config == nil {
		return nil
	}
	path := field.NewPath("status", "config")
	for _, c := range []struct {
		name   string
		source *corev1.NodeConfigSource
	}{{"assigned", config.Assigned}, {"active", config.Active}, {"lastKnownGood", config.LastKnownGood}} {
		if c.source != nil {
			errs = append(errs, validateConfigSource(c.source, path.Child(c.name), true)...)
		}
	}
	return errs
}

// validateConfigSource validates the source of a node's configuration. The config map's uid and revision are
// set in the status only.
func validateConfigSource(source *corev1.NodeConfigSource, path *field.Path, inStatus bool) (errs field.ErrorList) {
	cm := source.ConfigMap
	if cm == nil {
		shown := struct {
			ConfigMap *corev1.ConfigMapNodeConfigSource
		}{}
		return field.ErrorList{field.Invalid(path, shown, "exactly one reference subfield must be non-nil")}
	}
	path = path.Child("configMap")
	for _, f := range []struct{ name, value string }{{"uid", string(cm.UID)}, {"resourceVersion", cm.ResourceVersion}} {
		switch {
		case inStatus && f.value == "":
			errs = append(errs, field.Required(path.Child(f.name), f.name+" must be set in status"))
		case !inStatus && f.value != "":
			errs = append(errs, field.Forbidden(path.Child(f.name), f.name+" must not be set in spec"))
		}
	}
	for _, f := range []struct {
		name, value string
		check       func(string) []string
	}{
		{"namespace", cm.Namespace, func(s string) []string { return apivalidation.ValidateNamespaceName(s, false) }},
		{"name", cm.Name, func(s string) []string { return apivalidation.NameIsDNSSubdomain(s, false) }},
		{"kubeletConfigKey", cm.KubeletConfigKey, validation.IsConfigMapKey},
	} {
		if f.value == "" {
			errs = append(errs, field.Required(path.Child(f.name), f.name+" must be set"))
			continue
		}
		errs = append(errs, fieldcheck.Invalid(path.Child(f.name), f.value, f.check(f.value))...)
	}
	return errs
}
