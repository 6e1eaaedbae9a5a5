package apps

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func statefulSetKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "StatefulSet", Plural: "statefulsets", Singular: "statefulset",
		ShortNames: []string{"sts"},
		Categories: []string{"all"},
		Namespaced: true,
		Generation: true,
		Endpoints: append([]kind.Endpoint{{Group: "apps", Version: "v1"}},
			oldEndpoints(oldStatefulSets(), "StatefulSet", beta2, beta1)...),
		// The pods' host names start with the name.
		ValidName: apivalidation.NameIsDNSLabel,
		Subresources: []kind.Subresource{
			kind.ScaleOf(
				func(s *appsv1.StatefulSet) kind.Scaled {
					return kind.Scaled{Replicas: s.Spec.Replicas, Running: s.Status.Replicas, Selector: s.Spec.Selector}
				},
				func(s *appsv1.StatefulSet, n int32) { s.Spec.Replicas = &n },
			),
			{Name: "status", Verbs: []string{"get", "patch", "update"}},
		},
	}, kind.Rules[*appsv1.StatefulSet]{
		Versions: oldStatefulSets(),
		Default:  defaultStatefulSet,
		Restore:  nameClaims,
		Validate: fieldcheck.WithFinalizers(validateStatefulSet),
		Warnings: statefulSetWarnings,
		Columns:  statefulSetColumns,
		Row:      statefulSetRow,
	})
}

// defaultStatefulSet sets the defaults: pods are created and replaced one after the other, and their claims
// are retained.
func defaultStatefulSet(s *appsv1.StatefulSet) {
	spec := &s.Spec
	if spec.PodManagementPolicy == "" {
		spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	strategy := &spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		if strategy.RollingUpdate == nil {
			strategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
	}
	rolling := strategy.RollingUpdate
	if rolling != nil && strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		if rolling.Partition == nil {
			rolling.Partition = new(int32(0))
		}
		if rolling.MaxUnavailable == nil {
			rolling.MaxUnavailable = new(intstr.FromInt32(1))
		}
	}
	defaultRetention(spec)
	if spec.Replicas == nil {
		spec.Replicas = new(int32(1))
	}
	if spec.RevisionHistoryLimit == nil {
		spec.RevisionHistoryLimit = new(int32(10))
	}
	podspec.DefaultTemplate(&spec.Template)
	for i := range spec.VolumeClaimTemplates {
		podspec.DefaultClaim(&spec.VolumeClaimTemplates[i])
	}
	nameClaims(s)
}

// nameClaims sets the kind of claim templates, which clients may omit and protobuf does not encode.
func nameClaims(s *appsv1.StatefulSet) {
	for i := range s.Spec.VolumeClaimTemplates {
		s.Spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{Kind: "PersistentVolumeClaim", APIVersion: "v1"}
	}
}

func defaultRetention(spec *appsv1.StatefulSetSpec) {
	if spec.PersistentVolumeClaimRetentionPolicy == nil {
		spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
	}
	policy := spec.PersistentVolumeClaimRetentionPolicy
	if policy.WhenDeleted == "" {
		policy.WhenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	if policy.WhenScaled == "" {
		policy.WhenScaled = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
}

func statefulSetWarnings(s, old *appsv1.StatefulSet) (warnings []string) {
	path := field.NewPath("spec")
	if old == nil || s.Generation != old.Generation {
		warnings = podspec.TemplateWarnings(&s.Spec.Template, path.Child("template"))
	}
	for i := range s.Spec.VolumeClaimTemplates {
		at := path.Child("volumeClaimTemplates").Index(i)
		if old != nil {
			at = at.Child("Spec") // Kubernetes uses this path on update only
		}
		warnings = append(warnings, podspec.ClaimSpecWarnings(&s.Spec.VolumeClaimTemplates[i].Spec, at)...)
	}
	if n := s.Spec.RevisionHistoryLimit; n != nil && *n < 0 {
		warnings = append(warnings,
			"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return warnings
}

var statefulSetColumns = []metav1.TableColumnDefinition{
	kind.NameColumn,
	{Name: "Ready", Type: "string", Description: "Number of the pod with ready state"},
	kind.AgeColumn,
	core.ContainersColumn(1),
	core.ImagesColumn(1),
}

func statefulSetRow(s *appsv1.StatefulSet, now time.Time) []any {
	names, images := core.ContainerCells(&s.Spec.Template)
	return []any{
		s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, desired(s.Spec.Replicas)),
		kind.Age(s.CreationTimestamp.Time, now), names, images,
	}
}
