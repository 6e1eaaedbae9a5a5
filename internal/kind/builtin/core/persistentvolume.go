package core

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func persistentVolumeKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "PersistentVolume", Plural: "persistentvolumes", Singular: "persistentvolume",
		ShortNames:     []string{"pv"},
		ReturnsDeleted: true,
		Endpoints:      []kind.Endpoint{{Version: "v1"}},
		Subresources:   []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*corev1.PersistentVolume]{
		Default:  defaultPersistentVolume,
		Prepare:  preparePersistentVolume,
		Validate: validatePersistentVolume,
		Warnings: persistentVolumeWarnings,
		Columns:  persistentVolumeColumns,
		Row:      persistentVolumeRow,
	})
}

// preparePersistentVolume makes a new volume pending, and records the time at which the phase changes.
func preparePersistentVolume(v, old *corev1.PersistentVolume, sub string) {
	switch {
	case old == nil:
		v.Status.Phase = corev1.VolumePending
		v.Status.LastPhaseTransitionTime = new(metav1.Now())
	case sub == "status":
		recordTransition(&v.Status, &old.Status)
	}
}

// recordTransition sets the time of a change of the phase, unless the client has set a new time.
func recordTransition(status, was *corev1.PersistentVolumeStatus) {
	sent, before := status.LastPhaseTransitionTime, was.LastPhaseTransitionTime
	switch {
	case status.Phase != was.Phase:
		if sent == nil || sent.Equal(before) {
			status.LastPhaseTransitionTime = new(metav1.Now())
		}
	case sent == nil:
		status.LastPhaseTransitionTime = before.DeepCopy()
	}
}

var persistentVolumeColumns = func() []metav1.TableColumnDefinition {
	spec, status := corev1.PersistentVolumeSpec{}.SwaggerDoc(), corev1.PersistentVolumeStatus{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		textColumn("Capacity", spec["capacity"], 0),
		textColumn("Access Modes", spec["accessModes"], 0),
		textColumn("Reclaim Policy", spec["persistentVolumeReclaimPolicy"], 0),
		textColumn("Status", status["phase"], 0),
		textColumn("Claim", spec["claimRef"], 0),
		textColumn("StorageClass", "StorageClass of the pv", 0),
		textColumn("VolumeAttributesClass", "VolumeAttributesClass of the pv", 0),
		textColumn("Reason", status["reason"], 0),
		kind.AgeColumn,
		textColumn("VolumeMode", spec["volumeMode"], 1),
	}
}()

func persistentVolumeRow(v *corev1.PersistentVolume, now time.Time) []any {
	phase, claim := string(v.Status.Phase), ""
	if v.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	if ref := v.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	class := v.Spec.StorageClassName
	if annotated, old := v.Annotations[corev1.BetaStorageClassAnnotation]; old {
		class = annotated
	}
	attributes, mode := "<unset>", "<unset>"
	if v.Spec.VolumeAttributesClassName != nil {
		attributes = *v.Spec.VolumeAttributesClassName
	}
	if v.Spec.VolumeMode != nil {
		mode = string(*v.Spec.VolumeMode)
	}
	capacity := v.Spec.Capacity[corev1.ResourceStorage]
	return []any{v.Name, capacity.String(), modeNames(v.Spec.AccessModes),
		string(v.Spec.PersistentVolumeReclaimPolicy), phase, claim, class, attributes, v.Status.Reason,
		kind.Age(v.CreationTimestamp.Time, now), mode}
}
