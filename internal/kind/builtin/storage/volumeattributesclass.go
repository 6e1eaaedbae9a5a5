package storage

import (
	"maps"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func attributesClassKind(cache *object.Cache) kind.Kind {
	docs := storagev1.VolumeAttributesClass{}.SwaggerDoc()
	return kind.NewTyped(cache, kind.Info{
		Kind: "VolumeAttributesClass", Plural: "volumeattributesclasses", Singular: "volumeattributesclass",
		ShortNames:     []string{"vac"},
		ReturnsDeleted: true,
		Endpoints:      []kind.Endpoint{{Group: storagev1.GroupName, Version: "v1"}},
	}, kind.Rules[*storagev1.VolumeAttributesClass]{
		Validate: validateAttributesClass,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "DriverName", Type: "string", Description: docs["driverName"]},
			kind.AgeColumn,
		},
		Row: func(c *storagev1.VolumeAttributesClass, now time.Time) []any {
			return []any{c.Name, c.DriverName, kind.Age(c.CreationTimestamp.Time, now)}
		},
	})
}

func validateAttributesClass(c, old *storagev1.VolumeAttributesClass, _ string) (errs field.ErrorList) {
	driver, parameters := field.NewPath("driverName"), field.NewPath("parameters")
	if old != nil && c.DriverName != old.DriverName {
		errs = append(errs, field.Forbidden(driver, "updates to driverName are forbidden."))
	}
	if old != nil && !maps.Equal(c.Parameters, old.Parameters) {
		errs = append(errs, field.Forbidden(parameters, "updates to parameters are forbidden."))
	}
	errs = append(errs, fieldcheck.Finalizers(c)...)
	errs = append(errs, fieldcheck.Required(driver, c.DriverName, "")...)
	errs = append(errs, validateProvisioner(c.DriverName, driver)...)
	errs = append(errs, validateParameters(c.Parameters, parameters)...)
	if len(c.Parameters) == 0 {
		errs = append(errs, field.Required(parameters, "must contain at least one key/value pair"))
	}
	return errs
}
