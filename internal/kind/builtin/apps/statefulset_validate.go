package apps

import (
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

func validateStatefulSet(s, old *appsv1.StatefulSet, sub string) field.ErrorList {
	if sub == "status" {
		return validateStatefulSetStatus(&s.Status, &old.Status, field.NewPath("status"))
	}
	path := field.NewPath("spec")
	if old == nil {
		return validateStatefulSetSpec(&s.Spec, nil, path)
	}
	return append(validateStatefulSetSpec(&s.Spec, &old.Spec, path),
		validateStatefulSetUpdate(&s.Spec, &old.Spec, path)...)
}

// validateStatefulSetSpec validates the parts of a spec in the order of Kubernetes' errors. Immutable fields
// are validated on create only, when old is nil.
func validateStatefulSetSpec(spec, old *appsv1.StatefulSetSpec, path *field.Path) (errs field.ErrorList) {
	if p := spec.PodManagementPolicy; p != appsv1.OrderedReadyPodManagement && p != appsv1.ParallelPodManagement {
		errs = append(errs, field.Invalid(path.Child("podManagementPolicy"), p,
			fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)))
	}
	errs = append(errs, validateStatefulStrategy(&spec.UpdateStrategy, path.Child("updateStrategy"))...)
	errs = append(errs, validateRetention(spec.PersistentVolumeClaimRetentionPolicy,
		path.Child("persistentVolumeClaimRetentionPolicy"))...)
	if old == nil {
		for i := range spec.VolumeClaimTemplates {
			at := path.Child("volumeClaimTemplates").Index(i).Child("spec")
			errs = append(errs, podspec.ValidateClaimSpec(&spec.VolumeClaimTemplates[i].Spec, nil, at)...)
		}
	}
	errs = append(errs, nonNegative(path.Child("replicas"), *spec.Replicas)...)
	errs = append(errs, nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)...)
	if spec.Ordinals != nil {
		errs = append(errs, nonNegative(path.Child("ordinals.start"), spec.Ordinals.Start)...)
	}
	if old == nil && spec.ServiceName != "" {
		errs = append(errs, fieldcheck.Invalid(path.Child("serviceName"), spec.ServiceName,
			validation.IsDNS1123Label(spec.ServiceName))...)
	}
	errs = append(errs, validateStatefulSelector(spec.Selector, path.Child("selector"))...)
	errs = append(errs, validateStatefulTemplate(spec, old, path)...)
	return append(errs, podspec.ValidateLongRunning(&spec.Template, path.Child("template"), "StatefulSet")...)
}

// rollingLayout and strategyLayout are the form in which Kubernetes reports a strategy, with its Go field
// names.
type rollingLayout struct {
	Partition      int32
	MaxUnavailable *intstr.IntOrString
}

type strategyLayout struct {
	Type          appsv1.StatefulSetUpdateStrategyType
	RollingUpdate *rollingLayout
}

func validateStatefulStrategy(s *appsv1.StatefulSetUpdateStrategy, path *field.Path) field.ErrorList {
	shown := strategyLayout{Type: s.Type}
	if r := s.RollingUpdate; r != nil {
		shown.RollingUpdate = &rollingLayout{MaxUnavailable: r.MaxUnavailable}
		if r.Partition != nil {
			shown.RollingUpdate.Partition = *r.Partition
		}
	}
	switch {
	case s.Type == appsv1.OnDeleteStatefulSetStrategyType && shown.RollingUpdate != nil:
		return field.ErrorList{field.Invalid(path.Child("rollingUpdate"), shown.RollingUpdate,
			fmt.Sprintf("only allowed for updateStrategy '%s'", appsv1.RollingUpdateStatefulSetStrategyType))}
	case s.Type == appsv1.RollingUpdateStatefulSetStrategyType && shown.RollingUpdate != nil:
		return validateStatefulRollingUpdate(shown.RollingUpdate, path.Child("rollingUpdate"))
	case s.Type == appsv1.OnDeleteStatefulSetStrategyType, s.Type == appsv1.RollingUpdateStatefulSetStrategyType:
		return nil
	}
	return field.ErrorList{field.Invalid(path, shown,
		fmt.Sprintf("must be '%s' or '%s'", appsv1.RollingUpdateStatefulSetStrategyType,
			appsv1.OnDeleteStatefulSetStrategyType))}
}

func validateStatefulRollingUpdate(r *rollingLayout, path *field.Path) field.ErrorList {
	errs := nonNegative(path.Child("partition"), r.Partition)
	if r.MaxUnavailable == nil {
		return errs
	}
	unavailable := path.Child("maxUnavailable")
	errs = append(errs, validateShare(*r.MaxUnavailable, unavailable)...)
	if shareValue(*r.MaxUnavailable) == 0 {
		errs = append(errs, field.Invalid(unavailable, *r.MaxUnavailable, "cannot be 0"))
	}
	return append(errs, atMostAll(*r.MaxUnavailable, unavailable)...)
}

func validateRetention(p *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	return append(validateRetentionOf(p.WhenDeleted, path.Child("whenDeleted")),
		validateRetentionOf(p.WhenScaled, path.Child("whenScaled"))...)
}

func validateRetentionOf(p appsv1.PersistentVolumeClaimRetentionPolicyType, path *field.Path) field.ErrorList {
	known := []appsv1.PersistentVolumeClaimRetentionPolicyType{
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
	}
	if slices.Contains(known, p) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, p, known)}
}

func validateStatefulSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return append(validLabels(selector, nil, path), notEmpty(selector, path, "statefulset")...)
}

// validateStatefulTemplate validates the template as the pods will have it: each gets a host name, a
// subdomain, and a volume for each claim.
func validateStatefulTemplate(spec, old *appsv1.StatefulSetSpec, path *field.Path) field.ErrorList {
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("selector"), spec.Selector, "")}
	}
	errs := validateSelects(selector, &spec.Template, path.Child("template"))
	if old == nil {
		return append(errs, podspec.ValidateTemplate(withIdentity(spec), nil, path.Child("template"))...)
	}
	was := withIdentity(old)
	templateErrs := podspec.ValidateTemplate(withIdentity(spec), was, path.Child("template"))
	if len(templateErrs) > 0 && len(podspec.ValidateTemplate(was, was, path)) > 0 {
		return errs // the template was stored under weaker rules: the set may still be scaled
	}
	return append(errs, templateErrs...)
}

func withIdentity(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	template := spec.Template
	template.Spec.Hostname, template.Spec.Subdomain = "", ""
	claims := map[string]bool{}
	var volumes []corev1.Volume
	for i := range spec.VolumeClaimTemplates {
		name := spec.VolumeClaimTemplates[i].Name
		if claims[name] {
			continue
		}
		claims[name] = true
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	for _, v := range template.Spec.Volumes {
		if !claims[v.Name] {
			volumes = append(volumes, v)
		}
	}
	template.Spec.Volumes = volumes
	return &template
}

// validateStatefulSetUpdate rejects changes of fields that determine the identity of the pods and their
// claims.
func validateStatefulSetUpdate(spec, old *appsv1.StatefulSetSpec, path *field.Path) field.ErrorList {
	errs := apivalidation.ValidateImmutableField(spec.Selector, old.Selector, path.Child("selector"))
	if !equality.Semantic.DeepEqual(spec.VolumeClaimTemplates, old.VolumeClaimTemplates) {
		errs = append(errs, field.Invalid(path.Child("volumeClaimTemplates"), claimsLayout(spec.VolumeClaimTemplates),
			apivalidation.FieldImmutableErrorMsg))
	}
	errs = append(errs,
		apivalidation.ValidateImmutableField(spec.ServiceName, old.ServiceName, path.Child("serviceName"))...)
	return append(errs, apivalidation.ValidateImmutableField(spec.PodManagementPolicy, old.PodManagementPolicy,
		path.Child("podManagementPolicy"))...)
}

// claimLayout is the form in which Kubernetes reports a claim.
type claimLayout struct {
	metav1.ObjectMeta
	Spec, Status json.RawMessage
}

func claimsLayout(claims []corev1.PersistentVolumeClaim) (shown []claimLayout) {
	for i := range claims {
		c := &claims[i]
		shown = append(shown, claimLayout{c.ObjectMeta, podspec.Layout(c.Spec), podspec.Layout(c.Status)})
	}
	return shown
}

func validateStatefulSetStatus(s, old *appsv1.StatefulSetStatus, path *field.Path) field.ErrorList {
	errs := nonNegative(path.Child("replicas"), s.Replicas)
	errs = append(errs, nonNegative(path.Child("readyReplicas"), s.ReadyReplicas)...)
	errs = append(errs, nonNegative(path.Child("currentReplicas"), s.CurrentReplicas)...)
	errs = append(errs, nonNegative(path.Child("updatedReplicas"), s.UpdatedReplicas)...)
	errs = append(errs, nonNegative(path.Child("availableReplicas"), s.AvailableReplicas)...)
	errs = append(errs, nonNegative(path.Child("observedGeneration"), s.ObservedGeneration)...)
	if n := s.CollisionCount; n != nil {
		errs = append(errs, nonNegative(path.Child("collisionCount"), *n)...)
	}
	errs = append(errs, atMost(path.Child("readyReplicas"), s.ReadyReplicas, s.Replicas, "status.replicas")...)
	errs = append(errs, atMost(path.Child("currentReplicas"), s.CurrentReplicas, s.Replicas, "status.replicas")...)
	errs = append(errs, atMost(path.Child("updatedReplicas"), s.UpdatedReplicas, s.Replicas, "status.replicas")...)
	errs = append(errs, atMost(path.Child("availableReplicas"), s.AvailableReplicas, s.Replicas, "status.replicas")...)
	errs = append(errs, atMost(path.Child("availableReplicas"), s.AvailableReplicas, s.ReadyReplicas,
		"status.readyReplicas")...)
	return append(errs, validateCollisionCount(path.Child("collisionCount"), s.CollisionCount, old.CollisionCount)...)
}
