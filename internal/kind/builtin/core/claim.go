package core

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func claimKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "PersistentVolumeClaim", Plural: "persistentvolumeclaims", Singular: "persistentvolumeclaim",
		ShortNames:     []string{"pvc"},
		Namespaced:     true,
		ReturnsDeleted: true,
		Endpoints:      []kind.Endpoint{{Version: "v1"}},
		Subresources:   []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*corev1.PersistentVolumeClaim]{
		Default:  podspec.DefaultClaim,
		Prepare:  prepareClaim,
		Validate: validateClaim,
		Warnings: claimWarnings,
		Columns:  claimColumns,
		Row:      claimRow,
	})
}

// prepareClaim sets the phase of a new claim, and synchronizes the two fields for the data source.
func prepareClaim(c, old *corev1.PersistentVolumeClaim, sub string) {
	if old == nil {
		c.Status.Phase = corev1.ClaimPending
	}
	if sub == "status" {
		return
	}
	var was *corev1.PersistentVolumeClaimSpec
	if old != nil {
		was = &old.Spec
	}
	dropDataSources(&c.Spec, was)
	nameDataSources(&c.Spec)
}

// dropDataSources drops unsupported data sources, unless the old claim had one: references to another
// namespace and, in the older field, objects other than claims and snapshots (KEP-1495).
func dropDataSources(spec, was *corev1.PersistentVolumeClaimSpec) {
	if ref := spec.DataSourceRef; ref != nil && deref(ref.Namespace) != "" && (was == nil || was.DataSourceRef == nil) {
		spec.DataSourceRef = nil
	}
	had := was != nil && (was.DataSource != nil || was.DataSourceRef != nil)
	if s := spec.DataSource; s != nil && spec.DataSourceRef == nil && !had {
		claim := s.Kind == "PersistentVolumeClaim" && deref(s.APIGroup) == ""
		snapshot := s.Kind == "VolumeSnapshot" && deref(s.APIGroup) == "snapshot.storage.k8s.io"
		if !claim && !snapshot {
			spec.DataSource = nil
		}
	}
}

// nameDataSources sets each of the two fields from the other one, if only one is set.
func nameDataSources(spec *corev1.PersistentVolumeClaimSpec) {
	from, ref := spec.DataSource, spec.DataSourceRef
	switch {
	case from != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: from.APIGroup, Kind: from.Kind, Name: from.Name}
	case from == nil && ref != nil && deref(ref.Namespace) == "":
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}

func deref[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

func claimWarnings(c, _ *corev1.PersistentVolumeClaim) (warnings []string) {
	if _, old := c.Annotations[corev1.BetaStorageClassAnnotation]; old {
		warnings = append(warnings,
			field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation).String()+
				`: deprecated since v1.8; use "storageClassName" attribute instead`)
	}
	return append(warnings, podspec.ClaimSpecWarnings(&c.Spec, field.NewPath("spec"))...)
}

var claimColumns = func() []metav1.TableColumnDefinition {
	spec, status := corev1.PersistentVolumeClaimSpec{}.SwaggerDoc(), corev1.PersistentVolumeClaimStatus{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		textColumn("Status", status["phase"], 0),
		textColumn("Volume", spec["volumeName"], 0),
		textColumn("Capacity", status["capacity"], 0),
		textColumn("Access Modes", status["accessModes"], 0),
		textColumn("StorageClass", "StorageClass of the pvc", 0),
		textColumn("VolumeAttributesClass", "VolumeAttributesClass of the pvc", 0),
		kind.AgeColumn,
		textColumn("VolumeMode", spec["volumeMode"], 1),
	}
}()

// claimRow shows the capacity and access modes only for a claim that has a volume.
func claimRow(c *corev1.PersistentVolumeClaim, now time.Time) []any {
	phase, capacity, modes := string(c.Status.Phase), "", ""
	if c.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	if c.Spec.VolumeName != "" {
		storage := c.Status.Capacity[corev1.ResourceStorage]
		capacity, modes = storage.String(), modeNames(c.Status.AccessModes)
	}
	attributes, mode := "<unset>", "<unset>"
	if c.Spec.VolumeAttributesClassName != nil {
		attributes = *c.Spec.VolumeAttributesClassName
	}
	if c.Spec.VolumeMode != nil {
		mode = string(*c.Spec.VolumeMode)
	}
	return []any{c.Name, phase, c.Spec.VolumeName, capacity, modes, storageClass(c), attributes,
		kind.Age(c.CreationTimestamp.Time, now), mode}
}

// storageClass returns the storage class of a claim. In old claims, an annotation holds it.
func storageClass(c *corev1.PersistentVolumeClaim) string {
	if class, old := c.Annotations[corev1.BetaStorageClassAnnotation]; old {
		return class
	}
	return deref(c.Spec.StorageClassName)
}

// modeNames abbreviates access modes.
func modeNames(modes []corev1.PersistentVolumeAccessMode) string {
	var names []string
	for _, m := range []struct {
		mode corev1.PersistentVolumeAccessMode
		name string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"},
		{corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, m.mode) {
			names = append(names, m.name)
		}
	}
	return strings.Join(names, ",")
}
