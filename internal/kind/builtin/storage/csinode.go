package storage

import (
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func nodeKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "CSINode", Plural: "csinodes", Singular: "csinode",
		ReturnsDeleted:    true,
		ConditionalUpdate: true,
		Endpoints:         endpoints(&v1beta1.CSINode{}, "CSINode"),
		Subresources:      status(),
	}, kind.Rules[*storagev1.CSINode]{
		Prepare:  prepareNode,
		Validate: validateNode,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Drivers", Type: "integer",
				Description: "Drivers indicates the number of CSI drivers registered on the node"},
			kind.AgeColumn,
		},
		Row: func(n *storagev1.CSINode, now time.Time) []any {
			return []any{n.Name, int64(len(n.Spec.Drivers)), kind.Age(n.CreationTimestamp.Time, now)}
		},
	})
}

// prepareNode restores the metadata in a write of the status. It drops the storage health of a node that had none
// before, because the feature gate CSIVolumeHealth is off by default.
func prepareNode(n, old *storagev1.CSINode, sub string) {
	if sub != "status" {
		return
	}
	preserveMetadata(n, old)
	if len(old.Status.StorageHealth) == 0 {
		n.Status.StorageHealth = nil
	}
}

func validateNode(n, old *storagev1.CSINode, sub string) field.ErrorList {
	errs := fieldcheck.Finalizers(n)
	if sub == "status" {
		return append(errs, validateStorageHealth(n.Status.StorageHealth, field.NewPath("status", "storageHealth"))...)
	}
	path := field.NewPath("spec", "drivers")
	seen := map[string]bool{}
	for i := range n.Spec.Drivers {
		if len(errs) >= maxErrors {
			break
		}
		d := &n.Spec.Drivers[i]
		errs = append(errs, validateNodeDriver(d, seen[d.Name], path.Index(i))...)
		seen[d.Name] = true
	}
	if old != nil {
		errs = append(errs, validateDriversUpdate(n.Spec.Drivers, old.Spec.Drivers, path)...)
	}
	return errs
}

// maxNodeID is the maximum length of a driver's name for a node.
const maxNodeID = 256

func validateNodeDriver(d *storagev1.CSINodeDriver, duplicate bool, path *field.Path) field.ErrorList {
	errs := core.ValidateCSIDriverName(path.Child("name"), d.Name)
	errs = append(errs, fieldcheck.Required(path.Child("nodeID"), d.NodeID, "")...)
	if len(d.NodeID) > maxNodeID {
		errs = append(errs, field.Invalid(path.Child("nodeID"), d.NodeID,
			fmt.Sprintf("must be %d characters or less", maxNodeID)))
	}
	if d.Allocatable != nil && d.Allocatable.Count != nil {
		errs = append(errs, fieldcheck.NonNegative(path.Child("allocatable", "count"), int64(*d.Allocatable.Count))...)
	}
	if duplicate {
		errs = append(errs, field.Duplicate(path.Child("name"), d.Name))
	}
	keys := map[string]bool{}
	for _, key := range d.TopologyKeys {
		if len(errs) >= maxErrors {
			break
		}
		errs = append(errs, fieldcheck.Required(path, key, "")...)
		if keys[key] {
			errs = append(errs, field.Duplicate(path, key))
		}
		keys[key] = true
		errs = append(errs, fieldcheck.QualifiedName(path, key)...)
	}
	return errs
}

// validateDriversUpdate rejects changes of drivers, except for their allocatable count. Drivers may be added and
// removed.
func validateDriversUpdate(drivers, old []storagev1.CSINodeDriver, path *field.Path) (errs field.ErrorList) {
	byName := map[string][]storagev1.CSINodeDriver{}
	for _, d := range drivers {
		d.Allocatable = nil
		byName[d.Name] = append(byName[d.Name], d)
	}
	for _, was := range old {
		was.Allocatable = nil
		for _, is := range byName[was.Name] {
			if len(errs) < maxErrors && !equality.Semantic.DeepEqual(is, was) {
				errs = append(errs, field.Invalid(path, podspec.Layout(is), apivalidation.FieldImmutableErrorMsg))
			}
		}
		// The names of old drivers are unique, except in a damaged object. Its update must not take quadratic time.
		delete(byName, was.Name)
	}
	return errs
}
