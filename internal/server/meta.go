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
	"github.com/bowline-dev/bowline/internal/object"
)

// generatedLength is the number of random characters after metadata.generateName, which is cut to
// longestPrefix.
const (
	generatedLength = 5
	longestPrefix   = 63 - generatedLength
)

var metadataPath = field.NewPath("metadata")

// wipeCreate resets the metadata of a new object that only the server sets. Plugins do not see the client's
// values.
func wipeCreate(obj kind.Object) {
	obj.SetUID("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
}

// fillCreate sets the metadata of a new object that only the server sets, whatever plugins set.
func fillCreate(obj kind.Object) {
	wipeCreate(obj)
	obj.SetUID(types.UID(uuid.NewString()))
	obj.SetCreationTimestamp(now())
	generateName(obj)
}

// generateName makes a name from metadata.generateName if there is no name.
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

// now returns the time with the precision of metadata: whole seconds.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// fillUpdate restores metadata that an update may not remove by leaving it out.
func fillUpdate(obj, old kind.Object) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if v := obj.GetResourceVersion(); v == "" || v == "0" {
		obj.SetResourceVersion(old.GetResourceVersion())
	}
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	obj.SetGeneration(old.GetGeneration())
	if old.GetDeletionTimestamp() != nil { // otherwise setting one is an error of the client
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

// recorder receives the warnings of a kind's validation.
type recorder struct{ *call }

// AddWarning implements the Recorder of k8s.io/apiserver's package warning. It ignores duplicates.
func (r recorder) AddWarning(_, text string) {
	if !slices.Contains(r.warnings, text) {
		r.warn(text)
	}
}

// validating returns the context for a kind's validation. Its warnings are sent with the answer.
func (c *call) validating() context.Context {
	return warning.WithWarningRecorder(c.context(), recorder{c})
}

// validateCreate returns the 422 of an invalid new object, or nil.
func validateCreate(ctx context.Context, k kind.Kind, obj kind.Object) error {
	info := k.Info()
	errs := validation.ValidateObjectMetaAccessor(lightOwnership(obj), info.Namespaced, nameRule(info), metadataPath)
	errs = append(errs, k.Validate(ctx, obj, nil, "")...)
	if len(errs) == 0 || ctx.Err() != nil { // the result of interrupted rules is incomplete
		return ctx.Err()
	}
	gk := qualified(k)
	gk.Kind = obj.GetObjectKind().GroupVersionKind().Kind // the body of a custom resource may name another kind
	return apierrors.NewInvalid(gk, obj.GetName(), errs)
}

func nameRule(info *kind.Info) validation.ValidateNameFunc {
	if info.ValidName != nil {
		return validation.ValidateNameFunc(info.ValidName)
	}
	return validation.NameIsDNSSubdomain
}

// validateUpdate returns the 422 of an invalid update, or nil. Kubernetes checks the metadata twice, in
// general and for each kind, and clients see each cause twice.
func validateUpdate(ctx context.Context, k kind.Kind, obj, old kind.Object, sub string) error {
	errs := validateMetadata(obj, old)
	errs = append(errs, errs...)
	if sub == "" && kind.HasInitializers(old) {
		old = nil // an object is new until it is initialized: initializers may change fields that are immutable later
	}
	errs = append(errs, k.Validate(ctx, obj, old, sub)...)
	if err := ctx.Err(); err != nil {
		return err
	}
	return invalid(k, obj.GetName(), errs)
}

// validateMetadata returns what is wrong with the metadata of an update. Most updates change nothing of it
// except the ownership; then only the ownership is checked.
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

// standing reports whether the metadata of a Go struct is unchanged, except for the fields that every write
// changes, and valid for an update.
func standing(obj, old kind.Object) bool {
	is, ok := structMetadata(obj)
	was, alike := structMetadata(old)
	return ok && alike && is.ResourceVersion != "" && is.Generation >= was.Generation &&
		is.Name == was.Name && is.Namespace == was.Namespace && is.UID == was.UID &&
		is.CreationTimestamp.Equal(&was.CreationTimestamp) && is.DeletionTimestamp == nil &&
		was.DeletionTimestamp == nil &&
		is.DeletionGracePeriodSeconds == nil && was.DeletionGracePeriodSeconds == nil &&
		maps.Equal(is.Labels, was.Labels) && maps.Equal(is.Annotations, was.Annotations) &&
		reflect.DeepEqual(is.OwnerReferences, was.OwnerReferences)
}

// structMetadata returns the metadata of an object that embeds metav1.ObjectMeta.
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

// header returns the data that the store holds beside the object's encodings.
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
	if kind.HasInitializers(obj) {
		h.Fields = maps.Clone(h.Fields)
		if h.Fields == nil {
			h.Fields = map[string]string{}
		}
		h.Fields[object.InitializersField] = strings.Join(kind.InitializersOf(obj).Names(), ",")
	}
	return h
}

// storable returns a 413 if an object is too large to be sent back in a request, unless it is no larger than
// before. Kubernetes answers the same when etcd's limit is exceeded, which is half of this one.
func storable(fresh, current *object.Object) error {
	size := len(fresh.Stored().Bytes())
	if size <= maxBody || current != nil && size <= len(current.Stored().Bytes()) {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the object would have %d bytes: limit is %d", size,
		maxBody))
}

// encode makes the object to commit, in the form that the writer's answer needs.
func encode(k kind.Kind, obj kind.Object, form object.Form) (*object.Object, error) {
	if v, ok := k.(kind.Custom); ok {
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
