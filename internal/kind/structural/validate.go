package structural

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Validate implements kind.Kind. It checks the schema of the kind's version, the replicas and selector of the
// scale subresource, the metadata of embedded objects, lists that are sets or maps, and the rules. On an
// update it accepts errors in values that have not changed. The caller validates the object's own metadata.
func (k *Kind) Validate(ctx context.Context, obj, old kind.Object, sub string) field.ErrorList {
	c, err := k.version.compiled()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	u := obj.(*unstructured.Unstructured)
	errs := k.version.validateType(u, k.info.Kind)
	if old == nil {
		if len(errs) == 0 {
			errs = append(errs, validation.ValidateCustomResource(nil, u.Object, c.createValidator())...)
			errs = append(errs, validateScale(u, k.scale)...)
		}
		errs = append(errs, validateEmbedded(ctx, u, c.embeds)...)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.lists, u.Object)...)
		return c.rules.check(ctx, u.Object, nil, errs)
	}
	was := old.(*unstructured.Unstructured)
	change := common.NewCorrelatedObject(u.Object, was.Object, &model.Structural{Structural: c.structural})
	if len(errs) == 0 {
		errs = append(errs, k.validateChange(c, u, was, sub, change)...)
	}
	if !k.writesStatusOnly(sub) {
		errs = append(errs, validateEmbedded(ctx, u, c.embeds)...)
	}
	errs = append(errs, validateLists(u, was, c.lists)...)
	return c.rules.check(ctx, u.Object, change, errs)
}

// writesStatusOnly reports whether a write can change only the status.
func (k *Kind) writesStatusOnly(sub string) bool { return sub == "status" && k.hasStatus() }

// createValidator avoids storing a nil *validator in the interface.
func (c *compiled) createValidator() validation.SchemaCreateValidator {
	if c.whole == nil {
		return nil
	}
	return c.whole
}

// validateType validates kind and apiVersion, which the schema does not restrict.
func (v *definedVersion) validateType(u *unstructured.Unstructured, kind string) field.ErrorList {
	var errs field.ErrorList
	if u.GetKind() != kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(), "must be "+kind))
	}
	if want := v.apiVersion; u.GetAPIVersion() != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), "must be "+want))
	}
	return errs
}

// validateChange validates an update against the schema: the whole object, or only its status.
func (k *Kind) validateChange(c *compiled, u, was *unstructured.Unstructured, sub string,
	change *common.CorrelatedObject) field.ErrorList {
	if k.writesStatusOnly(sub) {
		return append(validateStatus(c, u, was, change), validateScaleStatus(u, k.scale)...)
	}
	var errs field.ErrorList
	if c.whole != nil {
		errs = validation.ValidateCustomResourceUpdate(nil, u.Object, was.Object, c.whole,
			validation.WithRatcheting(change))
	}
	return append(errs, validateScale(u, k.scale)...)
}

func validateStatus(c *compiled, u, was *unstructured.Unstructured, change *common.CorrelatedObject) field.ErrorList {
	status, ok := u.Object["status"]
	if !ok || c.status == nil {
		return nil
	}
	var options []validation.ValidationOption
	if c.structural != nil {
		options = append(options, validation.WithRatcheting(change.Key("status")))
	}
	return validation.ValidateCustomResourceUpdate(field.NewPath("status"), status, was.Object["status"], c.status,
		options...)
}

// validateEmbedded validates the metadata of embedded objects.
func validateEmbedded(ctx context.Context, u *unstructured.Unstructured, s *schema.Structural) field.ErrorList {
	return objectmeta.Validate(ctx, nil, u.Object, s, false)
}

// validateLists validates sets and maps. It accepts all errors if the old object has such errors too.
func validateLists(u, was *unstructured.Unstructured, s *schema.Structural) field.ErrorList {
	errs := listtype.ValidateListSetsAndMaps(nil, s, u.Object)
	if len(errs) > 0 && len(listtype.ValidateListSetsAndMaps(nil, s, was.Object)) > 0 {
		return nil
	}
	return errs
}

// Warnings implements kind.Kind. It warns about new finalizers without a domain.
func (k *Kind) Warnings(obj, old kind.Object, sub string) []string {
	var had, warnings []string
	if sub == "status" {
		return nil
	}
	if old != nil {
		had = old.GetFinalizers()
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(obj.GetFinalizers()))) {
		if !slices.Contains(had, name) {
			warnings = append(warnings, finalizerWarnings(name)...)
		}
	}
	return warnings
}

// plainFinalizers are Kubernetes' own finalizers without a domain.
var plainFinalizers = []string{"orphan", "foregroundDeletion", "kubernetes"}

func finalizerWarnings(name string) []string {
	var warnings []string
	for _, problem := range apivalidation.IsQualifiedName(name) {
		warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: %s", name, problem))
	}
	if strings.Contains(name, "/") || slices.Contains(plainFinalizers, name) {
		return warnings
	}
	including := ""
	if strings.Contains(name, ".") {
		including = " including a path (/)"
	}
	return append(warnings,
		fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name%s to avoid accidental conflicts with other finalizer writers", name, including))
}
