package podspec

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// claimTemplateFields lists the metadata fields that the claim template of an ephemeral volume may set; the
// others follow from the pod.
var claimTemplateFields = map[string]bool{"Annotations": true, "Labels": true}

// validateClaimTemplate validates the claim template of an ephemeral volume.
func validateClaimTemplate(t *corev1.PersistentVolumeClaimTemplate, path *field.Path) field.ErrorList {
	meta := path.Child("metadata")
	errs := apivalidation.ValidateAnnotations(t.Annotations, meta.Child("annotations"))
	errs = append(errs, metavalidation.ValidateLabels(t.Labels, meta.Child("labels"))...)
	errs = append(errs, forbidFields(reflect.ValueOf(t.ObjectMeta), claimTemplateFields, "cannot be set", meta)...)
	return append(errs, ValidateClaimSpec(&t.Spec, nil, path.Child("spec"))...)
}

// ValidateClaimSpec returns the errors of the spec of a claim, in the order of Kubernetes' errors; path is its path.
// old is the spec that an update replaces, or nil.
func ValidateClaimSpec(c, old *corev1.PersistentVolumeClaimSpec, path *field.Path) (errs field.ErrorList) {
	if len(c.AccessModes) == 0 {
		errs = append(errs, field.Required(path.Child("accessModes"), "at least 1 access mode is required"))
	}
	if c.Selector != nil {
		errs = append(errs, metavalidation.ValidateLabelSelector(c.Selector,
			metavalidation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	}
	errs = append(errs, validateAccessModes(c.AccessModes, path.Child("accessModes"))...)
	storage := path.Child("resources").Key(string(corev1.ResourceStorage))
	if q, ok := c.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(storage, ""))
	} else if q.Sign() <= 0 {
		errs = append(errs, field.Invalid(storage, q.String(), "must be greater than zero"))
	}
	if name := c.StorageClassName; name != nil && *name != "" {
		errs = append(errs, fieldcheck.ObjectName(path.Child("storageClassName"), *name, false)...)
	}
	if c.VolumeMode != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("volumeMode"), *c.VolumeMode, corev1.PersistentVolumeBlock,
			corev1.PersistentVolumeFilesystem)...)
	}
	errs = append(errs, validateDataSources(c, old, path)...)
	if name := c.VolumeAttributesClassName; name != nil && *name != "" {
		errs = append(errs, fieldcheck.ObjectName(path.Child("volumeAttributesClassName"), *name, false)...)
	}
	return errs
}

// ClaimSpecWarnings returns the warnings about the spec of a claim; path is its path.
func ClaimSpecWarnings(c *corev1.PersistentVolumeClaimSpec, path *field.Path) (warnings []string) {
	for _, list := range []struct {
		name string
		of   corev1.ResourceList
	}{{"requests", c.Resources.Requests}, {"limits", c.Resources.Limits}} {
		if q := list.of[corev1.ResourceStorage]; q.MilliValue()%1000 != 0 {
			warnings = append(warnings, fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer",
				path.Child("resources", list.name).Key(string(corev1.ResourceStorage)), q.String()))
		}
	}
	return warnings
}

var accessModes = []corev1.PersistentVolumeAccessMode{
	corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod,
}

func validateAccessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) (errs field.ErrorList) {
	for _, mode := range modes {
		errs = append(errs, fieldcheck.OneOf(path, mode, accessModes...)...)
	}
	if slices.Contains(modes, corev1.ReadWriteOncePod) &&
		slices.ContainsFunc(modes, func(m corev1.PersistentVolumeAccessMode) bool {
			return m != corev1.ReadWriteOncePod && slices.Contains(accessModes, m)
		}) {
		errs = append(errs, field.Forbidden(path, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

// validateDataSources validates the two fields for the data source. As in Kubernetes, an update may set any group if
// the old claim has a data source with one.
func validateDataSources(c, old *corev1.PersistentVolumeClaimSpec, path *field.Path) (errs field.ErrorList) {
	anyGroup := old != nil && (old.DataSource != nil && old.DataSource.APIGroup != nil ||
		old.DataSourceRef != nil && old.DataSourceRef.APIGroup != nil)
	if s := c.DataSource; s != nil {
		errs = append(errs, validateDataSource(s.Name, s.Kind, s.APIGroup, anyGroup, path.Child("dataSource"))...)
	}
	if s := c.DataSourceRef; s != nil {
		errs = append(errs, validateDataSource(s.Name, s.Kind, s.APIGroup, anyGroup, path.Child("dataSourceRef"))...)
		if namespace := ptr.Deref(s.Namespace, ""); namespace != "" {
			errs = append(errs, fieldcheck.LabelName(path.Child("dataSourceRef", "namespace"), namespace)...)
		}
	}
	return append(errs, compareDataSources(c, path)...)
}

// compareDataSources checks that the two fields for the data source are consistent.
func compareDataSources(c *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	from, ref := c.DataSource, c.DataSourceRef
	if from == nil || ref == nil {
		return nil
	}
	if ptr.Deref(ref.Namespace, "") != "" {
		return field.ErrorList{field.Invalid(path, path.Child("dataSource"),
			"may not be specified when dataSourceRef.namespace is specified")}
	}
	if reflect.DeepEqual(from.APIGroup, ref.APIGroup) && from.Kind == ref.Kind && from.Name == ref.Name {
		return nil
	}
	return field.ErrorList{field.Invalid(path, path.Child("dataSource"), "must match dataSourceRef")}
}

// validateDataSource validates a data source. In the core group it must be another claim; other groups are only
// validated if anyGroup is not set.
func validateDataSource(name, kind string, group *string, anyGroup bool, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("name"), name, "")
	errs = append(errs, fieldcheck.Required(path.Child("kind"), kind, "")...)
	if (group == nil || *group == "") && kind != "PersistentVolumeClaim" {
		errs = append(errs, field.Invalid(path, kind,
			"must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
	}
	if name := ptr.Deref(group, ""); name != "" && !anyGroup {
		errs = append(errs, fieldcheck.Subdomain(path.Child("apiGroup"), name)...)
	}
	return errs
}
