package storage

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func classKind(cache *object.Cache) kind.Kind {
	docs := storagev1.StorageClass{}.SwaggerDoc()
	return kind.NewTyped(cache, kind.Info{
		Kind: "StorageClass", List: "StorageClassList", Plural: "storageclasses", Singular: "storageclass",
		ShortNames:     []string{"sc"},
		ReturnsDeleted: true,
		Endpoints:      endpoints(&v1beta1.StorageClass{}, "StorageClass"),
	}, kind.Rules[*storagev1.StorageClass]{
		Default:  defaultClass,
		Validate: validateClass,
		Warnings: classWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Provisioner", Type: "string", Description: docs["provisioner"]},
			{Name: "ReclaimPolicy", Type: "string", Description: docs["reclaimPolicy"]},
			{Name: "VolumeBindingMode", Type: "string", Description: docs["volumeBindingMode"]},
			{Name: "AllowVolumeExpansion", Type: "string", Description: docs["allowVolumeExpansion"]},
			kind.AgeColumn,
		},
		Row: classRow,
	})
}

func defaultClass(c *storagev1.StorageClass) {
	if c.ReclaimPolicy == nil {
		c.ReclaimPolicy = new(corev1.PersistentVolumeReclaimDelete)
	}
	if c.VolumeBindingMode == nil {
		c.VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
	}
}

func validateClass(c, old *storagev1.StorageClass, _ string) field.ErrorList {
	errs := append(fieldcheck.Finalizers(c), validateProvisioner(c.Provisioner, field.NewPath("provisioner"))...)
	errs = append(errs, validateParameters(c.Parameters, field.NewPath("parameters"))...)
	if policy := c.ReclaimPolicy; policy != nil && *policy != "" {
		errs = append(errs, fieldcheck.OneOf(field.NewPath("reclaimPolicy"), *policy,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	if mode := field.NewPath("volumeBindingMode"); c.VolumeBindingMode == nil {
		errs = append(errs, field.Required(mode, ""))
	} else {
		errs = append(errs, fieldcheck.OneOf(mode, *c.VolumeBindingMode,
			storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
	}
	errs = append(errs, validateTopologies(c.AllowedTopologies, field.NewPath("allowedTopologies"))...)
	errs = append(errs, fieldcheck.Required(field.NewPath("provisioner"), c.Provisioner, "")...)
	if old != nil {
		errs = append(errs, validateClassUpdate(c, old)...)
	}
	return errs
}

// validateClassUpdate rejects changes of the fields that describe volumes: a change would not affect volumes that
// exist.
func validateClassUpdate(c, old *storagev1.StorageClass) (errs field.ErrorList) {
	for _, f := range []struct {
		name   string
		is, of any
	}{
		{"provisioner", c.Provisioner, old.Provisioner},
		{"parameters", c.Parameters, old.Parameters},
		{"reclaimPolicy", c.ReclaimPolicy, old.ReclaimPolicy},
		{"volumeBindingMode", c.VolumeBindingMode, old.VolumeBindingMode},
	} {
		if !equality.Semantic.DeepEqual(f.is, f.of) {
			errs = append(errs, immutable(field.NewPath(f.name)))
		}
	}
	return errs
}

// classWarnings warns about deprecated labels of nodes.
func classWarnings(c, _ *storagev1.StorageClass) (warnings []string) {
	for i, term := range c.AllowedTopologies {
		at := field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions")
		for j, r := range term.MatchLabelExpressions {
			if message, deprecated := podspec.DeprecatedNodeLabel(r.Key); deprecated {
				warnings = append(warnings, fmt.Sprintf("%s: %s", at.Index(j).Child("key"), message))
			}
		}
	}
	return warnings
}

// defaultClassAnnotations mark the class of claims that name no class. The second annotation is the older one.
var defaultClassAnnotations = []string{
	"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class",
}

// IsDefault reports whether a class is marked as the default.
func IsDefault(c *storagev1.StorageClass) bool {
	return slices.ContainsFunc(defaultClassAnnotations, func(key string) bool { return c.Annotations[key] == "true" })
}

// classRow marks every class with the annotation of the default class. In a list, Kubernetes marks only the newest of
// these classes.
func classRow(c *storagev1.StorageClass, now time.Time) []any {
	name, policy, mode := c.Name, corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	if IsDefault(c) {
		name = c.Name + " (default)"
	}
	if c.ReclaimPolicy != nil {
		policy = *c.ReclaimPolicy
	}
	if c.VolumeBindingMode != nil {
		mode = *c.VolumeBindingMode
	}
	expands := c.AllowVolumeExpansion != nil && *c.AllowVolumeExpansion
	return []any{name, c.Provisioner, string(policy), string(mode), expands, kind.Age(c.CreationTimestamp.Time, now)}
}
