package storage

import (
	"cmp"
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func driverKind(cache *object.Cache) kind.Kind {
	docs := storagev1.CSIDriverSpec{}.SwaggerDoc()
	column := func(name, columnType, field string) metav1.TableColumnDefinition {
		return metav1.TableColumnDefinition{Name: name, Type: columnType, Description: docs[field]}
	}
	return kind.NewTyped(cache, kind.Info{
		Kind: "CSIDriver", Plural: "csidrivers", Singular: "csidriver",
		ReturnsDeleted:    true,
		ConditionalUpdate: true,
		Endpoints:         endpoints(&v1beta1.CSIDriver{}, "CSIDriver"),
	}, kind.Rules[*storagev1.CSIDriver]{
		Default:  defaultDriver,
		Prepare:  countDriverGeneration,
		Validate: validateDriver,
		Warnings: driverWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			column("AttachRequired", "boolean", "attachRequired"),
			column("PodInfoOnMount", "boolean", "podInfoOnMount"),
			column("StorageCapacity", "boolean", "storageCapacity"),
			column("TokenRequests", "string", "tokenRequests"),
			column("RequiresRepublish", "boolean", "requiresRepublish"),
			column("Modes", "string", "volumeLifecycleModes"),
			kind.AgeColumn,
		},
		Row: driverRow,
	})
}

func defaultDriver(d *storagev1.CSIDriver) {
	spec := &d.Spec
	spec.AttachRequired = cmp.Or(spec.AttachRequired, new(true))
	spec.FSGroupPolicy = cmp.Or(spec.FSGroupPolicy, new(storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy))
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
	for _, flag := range []**bool{&spec.PodInfoOnMount, &spec.StorageCapacity, &spec.RequiresRepublish,
		&spec.SELinuxMount, &spec.PreventPodSchedulingIfMissing} {
		*flag = cmp.Or(*flag, new(false))
	}
}

// countDriverGeneration counts changes of the spec. Unlike an object of a kind with Info.Generation, a new driver has
// no generation.
func countDriverGeneration(d, old *storagev1.CSIDriver, _ string) {
	if old != nil && !equality.Semantic.DeepEqual(d.Spec, old.Spec) {
		d.Generation = old.Generation + 1
	}
}

func driverRow(d *storagev1.CSIDriver, now time.Time) []any {
	is := func(flag *bool) bool { return flag != nil && *flag }
	var modes []string
	for _, mode := range d.Spec.VolumeLifecycleModes {
		modes = append(modes, string(mode))
	}
	tokens := "<unset>"
	if d.Spec.TokenRequests != nil {
		var audiences []string
		for _, request := range d.Spec.TokenRequests {
			audiences = append(audiences, request.Audience)
		}
		tokens = strings.Join(audiences, ",")
	}
	return []any{d.Name, d.Spec.AttachRequired == nil || *d.Spec.AttachRequired, is(d.Spec.PodInfoOnMount),
		is(d.Spec.StorageCapacity), tokens, is(d.Spec.RequiresRepublish),
		cmp.Or(strings.Join(modes, ","), "<none>"), kind.Age(d.CreationTimestamp.Time, now)}
}
