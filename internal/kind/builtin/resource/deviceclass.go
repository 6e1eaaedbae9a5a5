package resource

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// deviceClassKind returns the kind of device classes: selectors and configurations that requests refer to by name.
func deviceClassKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "DeviceClass", Plural: "deviceclasses", Singular: "deviceclass",
		Generation:     true,
		ReturnsDeleted: true,
		Endpoints:      endpoints("DeviceClass"),
	}, kind.Rules[*resourcev1.DeviceClass]{
		Validate: func(c, old *resourcev1.DeviceClass, _ string) field.ErrorList {
			return append(fieldcheck.Finalizers(c), checkDeviceClass(c, old).all()...)
		},
		Columns: []metav1.TableColumnDefinition{kind.NameColumn, kind.AgeColumn},
		Row: func(c *resourcev1.DeviceClass, now time.Time) []any {
			return []any{c.Name, kind.Age(c.CreationTimestamp.Time, now)}
		},
	})
}

func checkDeviceClass(c, old *resourcev1.DeviceClass) (f findings) {
	spec, path, compiling := &c.Spec, field.NewPath("spec"), newCompilation()
	sameConfig := false
	if old != nil {
		sameConfig = equality.Semantic.DeepEqual(spec.Config, old.Spec.Config)
		if equality.Semantic.DeepEqual(spec.Selectors, old.Spec.Selectors) {
			compiling = nil
		}
	}
	f.add(limitedList(spec.Selectors, maxSelectors, path.Child("selectors"), compiling.checkSelector))
	f.add(compiling.checkCost(path.Child("selectors")))
	f.add(limitedList(spec.Config, resourcev1.DeviceConfigMaxSize, path.Child("config"),
		func(c *resourcev1.DeviceClassConfiguration, at *field.Path) findings {
			return checkConfig(&c.DeviceConfiguration, sameConfig, at)
		}))
	name := spec.ExtendedResourceName
	if name != nil && (old == nil || !ptr.Equal(name, old.Spec.ExtendedResourceName)) {
		f.declare(format(validate.ExtendedResourceName[string], path.Child("extendedResourceName"), *name)...)
	}
	return f
}
