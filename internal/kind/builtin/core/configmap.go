package core

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// immutableMessage is the error for a write to an immutable config map or secret.
const immutableMessage = "field is immutable when `immutable` is set"

func configMapKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ConfigMap", Plural: "configmaps", Singular: "configmap", ShortNames: []string{"cm"},
		Namespaced: true,
		Endpoints:  []kind.Endpoint{{Version: "v1"}},
	}, kind.Rules[*corev1.ConfigMap]{
		Validate: validateConfigMap,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]},
			kind.AgeColumn,
		},
		Row: func(cm *corev1.ConfigMap, now time.Time) []any {
			return []any{cm.Name, int64(len(cm.Data) + len(cm.BinaryData)), kind.Age(cm.CreationTimestamp.Time, now)}
		},
	})
}

func validateConfigMap(cm, old *corev1.ConfigMap, _ string) (errs field.ErrorList) {
	if old != nil && old.Immutable != nil && *old.Immutable {
		errs = append(errs, keepImmutable(cm.Immutable)...)
		errs = append(errs, keepValue(field.NewPath("data"), cm.Data, old.Data)...)
		errs = append(errs, keepValue(field.NewPath("binaryData"), cm.BinaryData, old.BinaryData)...)
	}
	errs = append(errs, fieldcheck.Finalizers(cm)...)
	return append(errs, validateConfigData(cm)...)
}

// validateConfigData validates the keys of both maps and the total size of the values.
func validateConfigData(cm *corev1.ConfigMap) (errs field.ErrorList) {
	size := 0
	for _, key := range fieldcheck.SortedKeys(cm.Data) {
		errs = append(errs, validateConfigKey(field.NewPath("data"), key)...)
		if _, both := cm.BinaryData[key]; both {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key,
				"duplicate of key present in binaryData"))
		}
		size += len(cm.Data[key])
	}
	for _, key := range fieldcheck.SortedKeys(cm.BinaryData) {
		errs = append(errs, validateConfigKey(field.NewPath("binaryData"), key)...)
		size += len(cm.BinaryData[key])
	}
	if size > corev1.MaxSecretSize {
		// As in Kubernetes, the path is empty, because the error is about the whole object.
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}

func validateConfigKey(path *field.Path, key string) field.ErrorList {
	return fieldcheck.Invalid(path.Key(key), key, validation.IsConfigMapKey(key))
}

// keepImmutable rejects making an immutable object mutable.
func keepImmutable(immutable *bool) field.ErrorList {
	if immutable != nil && *immutable {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("immutable"), immutableMessage)}
}

// keepValue rejects a change of a field of an immutable object.
func keepValue(path *field.Path, value, old any) field.ErrorList {
	if reflect.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, immutableMessage)}
}
