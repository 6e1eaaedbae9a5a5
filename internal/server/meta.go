package server

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// generatedLength is how many random characters follow metadata.generateName, and longestPrefix what is kept of it.
const (
	generatedLength = 5
	longestPrefix   = 63 - generatedLength
)

var metadataPath = field.NewPath("metadata")

// wipeCreate takes from a new object's metadata what the server alone decides: plugins see none of it yet.
func wipeCreate(obj kind.Object) {
	obj.SetUID("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
}

// fillCreate sets what the server alone decides of a new object's metadata, whatever plugins made of it.
func fillCreate(obj kind.Object) {
	wipeCreate(obj)
	obj.SetUID(types.UID(uuid.NewString()))
	obj.SetCreationTimestamp(now())
	generateName(obj)
}

// generateName makes a name from metadata.generateName, where there is no name.
func generateName(obj kind.Object) {
	if obj.GetName() != "" || obj.GetGenerateName() == "" {
		return
	}
	prefix := obj.GetGenerateName()
	if len(prefix) > longestPrefix {
		prefix = prefix[:longestPrefix]
	}
	obj.SetName(prefix + rand.String(generatedLength))
}

// now is the time as metadata carries it: in whole seconds.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// fillUpdate puts back what an update may not change by leaving it out.
func fillUpdate(obj, old kind.Object) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if v := obj.GetResourceVersion(); v == "" || v == "0" {
		obj.SetResourceVersion(old.GetResourceVersion())
	}
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	obj.SetGeneration(old.GetGeneration())
	if old.GetDeletionTimestamp() != nil { // where there is none, setting one is an error of the client
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	obj.SetSelfLink("")
	if obj.GetGenerateName() == "" {
		obj.SetGenerateName(old.GetGenerateName())
	}
}

// recorder hears the warnings of a kind's validation.
type recorder struct{ *call }

// AddWarning implements the Recorder of k8s.io/apiserver's package warning. A text is added once.
func (r recorder) AddWarning(_, text string) {
	if !slices.Contains(r.warnings, text) {
		r.warn(text)
	}
}

// validating is the context for a kind's validation, whose warnings go with the answer.
func (c *call) validating() context.Context {
	return warning.WithWarningRecorder(c.context(), recorder{c})
}

// validateCreate says what is wrong with a new object, or nil.
func validateCreate(ctx context.Context, k kind.Kind, obj kind.Object) error {
	info := k.Info()
	errs := validation.ValidateObjectMetaAccessor(lightOwnership(obj), info.Namespaced, nameRule(info), metadataPath)
	errs = append(errs, k.Validate(ctx, obj, nil, "")...)
	if len(errs) == 0 || ctx.Err() != nil { // rules that were interrupted say nothing of the object
		return ctx.Err()
	}
	gk := qualified(k)
	gk.Kind = obj.GetObjectKind().GroupVersionKind().Kind // a custom resource may say that it is another
	return apierrors.NewInvalid(gk, obj.GetName(), errs)
}

func nameRule(info *kind.Info) validation.ValidateNameFunc {
	if info.ValidName != nil {
		return validation.ValidateNameFunc(info.ValidName)
	}
	return validation.NameIsDNSSubdomain
}

// validateUpdate says what is wrong with an update, or nil. Kubernetes checks the metadata twice, for every kind and
// again for each, and clients see both causes.
func validateUpdate(ctx context.Context, k kind.Kind, obj, old kind.Object, sub string) error {
	errs := validateMetadata(obj, old)
	errs = append(errs, errs...)
	if sub == "" && kind.SaysInitializers(old) {
		old = nil // to others it is new still: what no update may change, an initializer may
	}
	errs = append(errs, k.Validate(ctx, obj, old, sub)...)
	if err := ctx.Err(); err != nil {
		return err
	}
	return invalid(k, obj.GetName(), errs)
}

// validateMetadata says what is wrong with the metadata of an update. Most leave it as it is but for who owns what, and then
// it is as right as it was.
func validateMetadata(obj, old kind.Object) field.ErrorList {
	if standing(obj, old) {
		who := metadataPath.Child("managedFields")
		return metavalidation.ValidateManagedFields(obj.GetManagedFields(), who, metavalidation.CoveredByDeclarative)
	}
	errs := validation.ValidateObjectMetaAccessorUpdate(lightOwnership(obj), old, metadataPath)
	for _, msg := range content.IsPathSegmentName(obj.GetName()) {
		errs = append(errs, field.Invalid(metadataPath.Child("name"), obj.GetName(), msg))
	}
	return errs
}

// standing says that the metadata of a Go struct is as it was, but for what follows from a write, and may be that of an update.
func standing(obj, old kind.Object) bool {
	is, ok := structMetadata(obj)
	was, alike := structMetadata(old)
	return ok && alike && is.ResourceVersion != "" && is.Generation >= was.Generation &&
		is.Name == was.Name && is.Namespace == was.Namespace && is.UID == was.UID &&
		is.CreationTimestamp.Equal(&was.CreationTimestamp) && is.DeletionTimestamp == nil && was.DeletionTimestamp == nil &&
		is.DeletionGracePeriodSeconds == nil && was.DeletionGracePeriodSeconds == nil &&
		maps.Equal(is.Labels, was.Labels) && maps.Equal(is.Annotations, was.Annotations) &&
		reflect.DeepEqual(is.OwnerReferences, was.OwnerReferences)
}

// structMetadata is the metadata of an object that has a Go struct for it.
func structMetadata(obj kind.Object) (*metav1.ObjectMeta, bool) {
	accessor, ok := obj.(metav1.ObjectMetaAccessor)
	if !ok {
		return nil, false
	}
	meta, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	return meta, ok
}

func invalid(k kind.Kind, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(qualified(k), name, errs)
}

// header is what the store keeps of an object beside its encodings.
func header(k kind.Kind, obj kind.Object) object.Header {
	h := object.Header{
		Key:    object.KeyOf(k.Info().GroupResource(), obj.GetNamespace(), obj.GetName()),
		UID:    obj.GetUID(),
		Labels: obj.GetLabels(),
		Fields: k.Fields(obj),
	}
	for _, o := range obj.GetOwnerReferences() {
		h.Owners = append(h.Owners, o.UID)
	}
	if kind.SaysInitializers(obj) {
		h.Fields = maps.Clone(h.Fields)
		if h.Fields == nil {
			h.Fields = map[string]string{}
		}
		h.Fields[object.InitializersField] = strings.Join(kind.InitializersOf(obj).Names(), ",")
	}
	return h
}

// storable refuses an object that is too large to be read and written back, since no request may carry it, unless it is
// no larger than before: what shrinks may be written. Kubernetes answers what etcd does, whose limit is half of ours.
func storable(fresh, current *object.Object) error {
	size := len(fresh.Stored().Bytes())
	if size <= maxBody || current != nil && size <= len(current.Stored().Bytes()) {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the object would have %d bytes: limit is %d", size, maxBody))
}

// encode makes the object that is to be committed, in the form that its writer's answer needs.
func encode(k kind.Kind, obj kind.Object, form object.Form) (*object.Object, error) {
	if v, ok := k.(kind.Versioned); ok {
		var err error
		if k, obj, err = v.ToStorage(obj); err != nil {
			return nil, err
		}
	}
	hub := k.Info().Endpoints[0].APIVersion()
	if form.APIVersion != hub {
		form = object.Form{APIVersion: hub, Format: form.Format}
	}
	version := obj.GetResourceVersion()
	obj.SetResourceVersion(object.RevisionPlaceholder)
	data, err := k.Encode(form, obj)
	obj.SetResourceVersion(version)
	if err != nil {
		return nil, err
	}
	e, err := object.NewEncoding(form, data)
	if err != nil {
		return nil, err
	}
	return object.New(header(k, obj), k, e), nil
}
