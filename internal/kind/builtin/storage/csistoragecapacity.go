package storage

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func capacityKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "CSIStorageCapacity", Plural: "csistoragecapacities", Singular: "csistoragecapacity",
		Namespaced:        true,
		ConditionalUpdate: true,
		Endpoints:         endpoints(&v1beta1.CSIStorageCapacity{}, "CSIStorageCapacity"),
	}, kind.Rules[*storagev1.CSIStorageCapacity]{
		Validate: validateCapacity,
		Warnings: capacityWarnings,
	})
}

// validateCapacity validates a capacity. An update cannot change the class and the topology to which the capacity
// applies.
func validateCapacity(c, old *storagev1.CSIStorageCapacity, _ string) field.ErrorList {
	topology, class := field.NewPath("nodeTopology"), field.NewPath("storageClassName")
	strict := metavalidation.LabelSelectorValidationOptions{}
	// An update may retain a selector that was stored under older, weaker rules.
	lenient := old != nil && len(metavalidation.ValidateLabelSelector(old.NodeTopology, strict, topology)) > 0
	errs := append(fieldcheck.Finalizers(c), metavalidation.ValidateLabelSelector(c.NodeTopology,
		metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: lenient}, topology)...)
	errs = append(errs, fieldcheck.ObjectName(class, c.StorageClassName, false)...)
	if c.Capacity != nil && c.Capacity.Sign() < 0 {
		errs = append(errs, field.Invalid(field.NewPath("capacity"), c.Capacity.String(),
			apivalidation.IsNegativeErrorMsg))
	}
	if old == nil {
		return errs
	}
	if !equality.Semantic.DeepEqual(c.NodeTopology, old.NodeTopology) {
		errs = append(errs, field.Invalid(topology, c.NodeTopology, apivalidation.FieldImmutableErrorMsg))
	}
	return append(errs, apivalidation.ValidateImmutableField(c.StorageClassName, old.StorageClassName, class)...)
}

// capacityWarnings warns about deprecated labels of nodes.
func capacityWarnings(c, _ *storagev1.CSIStorageCapacity) (warnings []string) {
	if c.NodeTopology == nil {
		return nil
	}
	path := field.NewPath("nodeTopology")
	for i, r := range c.NodeTopology.MatchExpressions {
		if message, deprecated := podspec.DeprecatedNodeLabel(r.Key); deprecated {
			warnings = append(warnings, fmt.Sprintf("%s: %s is %s",
				path.Child("matchExpressions").Index(i).Child("key"), r.Key, message))
		}
	}
	for _, key := range fieldcheck.SortedKeys(c.NodeTopology.MatchLabels) {
		if message, deprecated := podspec.DeprecatedNodeLabel(key); deprecated {
			warnings = append(warnings, fmt.Sprintf("%s: %s", path.Child("matchLabels", key), message))
		}
	}
	return warnings
}
