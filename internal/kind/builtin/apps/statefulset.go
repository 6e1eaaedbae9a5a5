package apps

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/object"
)

func statefulSetKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "StatefulSet", Plural: "statefulsets", Singular: "statefulset",
		ShortNames: []string{"sts"},
		Categories: []string{"all"},
		Namespaced: true,
		Generation: true,
		Endpoints:  append([]kind.Endpoint{{Group: "apps", Version: "v1"}}, bygone(pastStatefulSets(), "StatefulSet", beta2, beta1)...),
		// The pods' host names begin with the name.
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
		Versions: pastStatefulSets(),
		Default:  defaultStatefulSet,
		Restore:  nameClaims,
		Validate: validateStatefulSet,
		Warnings: statefulSetWarnings,
		Columns:  statefulSetColumns,
		Row:      statefulSetRow,
	})
}

// defaultStatefulSet: pods come and are replaced one after the other, and their claims outlive them.
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
	if rolling := strategy.RollingUpdate; rolling != nil {
		// Kubernetes 1.36 keeps it behind a feature gate that is off, and drops it without a word.
		rolling.MaxUnavailable = nil
		if strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && rolling.Partition == nil {
			rolling.Partition = new(int32(0))
		}
	}
	defaultRetention(spec)
	if spec.Replicas == nil {
		spec.Replicas = new(int32(1))
	}
	if spec.RevisionHistoryLimit == nil {
		spec.RevisionHistoryLimit = new(int32(10))
	}
	core.DefaultPodTemplate(&spec.Template)
	for i := range spec.VolumeClaimTemplates {
		core.DefaultClaim(&spec.VolumeClaimTemplates[i])
	}
	nameClaims(s)
}

// nameClaims says of the templates of claims what kind they are of, which clients may leave out, and protobuf does.
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
		warnings = core.PodTemplateWarnings(&s.Spec.Template, path.Child("template"))
	}
	for i := range s.Spec.VolumeClaimTemplates {
		at := path.Child("volumeClaimTemplates").Index(i)
		if old != nil {
			at = at.Child("Spec") // so Kubernetes names the place, on update alone
		}
		warnings = append(warnings, core.ClaimSpecWarnings(&s.Spec.VolumeClaimTemplates[i].Spec, at)...)
	}
	if n := s.Spec.RevisionHistoryLimit; n != nil && *n < 0 {
		warnings = append(warnings, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
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
		s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, desired(s.Spec.Replicas)), kind.Age(s.CreationTimestamp.Time, now), names, images,
	}
}
