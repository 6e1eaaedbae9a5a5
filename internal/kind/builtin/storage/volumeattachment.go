package storage

import (
	"math"
	"time"
	"unicode/utf8"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func attachmentKind(cache *object.Cache) kind.Kind {
	spec := storagev1.VolumeAttachmentSpec{}.SwaggerDoc()
	return kind.NewTyped(cache, kind.Info{
		Kind: "VolumeAttachment", Plural: "volumeattachments", Singular: "volumeattachment",
		ReturnsDeleted:    true,
		ConditionalUpdate: true,
		Endpoints:         endpoints(&v1beta1.VolumeAttachment{}, "VolumeAttachment"),
		Subresources:      status(),
	}, kind.Rules[*storagev1.VolumeAttachment]{
		Default: func(a *storagev1.VolumeAttachment) {
			if inline := a.Spec.Source.InlineVolumeSpec; inline != nil {
				core.DefaultVolumeSpec(inline)
			}
		},
		Prepare: func(a, old *storagev1.VolumeAttachment, sub string) {
			if sub == "status" {
				preserveMetadata(a, old)
			}
		},
		Validate: validateAttachment,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Attacher", Type: "string", Format: "name", Description: spec["attacher"]},
			{Name: "PV", Type: "string",
				Description: storagev1.VolumeAttachmentSource{}.SwaggerDoc()["persistentVolumeName"]},
			{Name: "Node", Type: "string", Description: spec["nodeName"]},
			{Name: "Attached", Type: "boolean",
				Description: storagev1.VolumeAttachmentStatus{}.SwaggerDoc()["attached"]},
			kind.AgeColumn,
		},
		Row: func(a *storagev1.VolumeAttachment, now time.Time) []any {
			volume := ""
			if name := a.Spec.Source.PersistentVolumeName; name != nil {
				volume = *name
			}
			return []any{a.Name, a.Spec.Attacher, volume, a.Spec.NodeName, a.Status.Attached,
				kind.Age(a.CreationTimestamp.Time, now)}
		},
	})
}

// validateAttachment applies the same rules to updates of an attachment and of its status.
func validateAttachment(a, old *storagev1.VolumeAttachment, _ string) field.ErrorList {
	path, errs := field.NewPath("spec"), fieldcheck.Finalizers(a)
	if old != nil {
		errs = append(errs, core.ValidateCSIDriverName(path.Child("attacher"), a.Spec.Attacher)...)
	}
	errs = append(errs, validateAttachmentSource(&a.Spec.Source, path.Child("source"))...)
	errs = append(errs, fieldcheck.ObjectName(path.Child("nodeName"), a.Spec.NodeName, false)...)
	errs = append(errs, validateAttachmentStatus(&a.Status, field.NewPath("status"))...)
	if name := a.Spec.Source.PersistentVolumeName; name != nil {
		errs = append(errs, fieldcheck.ObjectName(path.Child("source", "persistentVolumeName"), *name, false)...)
	}
	switch {
	case old == nil:
		errs = append(errs, validateNewAttacher(a.Spec.Attacher, path.Child("attacher"))...)
	case !equality.Semantic.DeepEqual(a.Spec, old.Spec):
		errs = append(errs, immutable(path))
	}
	return errs
}

// maxAttacher is the maximum number of characters in the name of a driver.
const maxAttacher = 63

// validateNewAttacher validates the name of a driver on create. Its messages differ from those on update.
func validateNewAttacher(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	//lint:ignore SA1019 Kubernetes still accepts upper case in the names of drivers
	errs := fieldcheck.Invalid(path, name, content.IsDNS1123SubdomainCaseless(name))
	if utf8.RuneCountInString(name) > maxAttacher {
		errs = append(errs, field.TooLongCharacters(path, name, maxAttacher))
	}
	return errs
}

// validateAttachmentSource requires the name of a persistent volume or an inline volume.
func validateAttachmentSource(s *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch name := s.PersistentVolumeName; {
	case s.InlineVolumeSpec == nil && name == nil:
		return field.ErrorList{field.Required(path, one)}
	case s.InlineVolumeSpec != nil && name != nil:
		return field.ErrorList{field.Forbidden(path, one)}
	case name != nil:
		return fieldcheck.Required(path.Child("persistentVolumeName"), *name,
			"must specify non empty persistentVolumeName")
	}
	return core.ValidateInlineVolumeSpec(s.InlineVolumeSpec, path.Child("inlineVolumeSpec"))
}

const (
	maxAttachmentMetadata = 256 << 10
	maxVolumeMessage      = 1024
)

func validateAttachmentStatus(s *storagev1.VolumeAttachmentStatus, path *field.Path) (errs field.ErrorList) {
	if size(s.AttachmentMetadata) > maxAttachmentMetadata {
		errs = append(errs, field.TooLong(path.Child("attachmentMetadata"), "", maxAttachmentMetadata))
	}
	errs = append(errs, validateVolumeError(s.AttachError, path.Child("attachError"))...)
	return append(errs, validateVolumeError(s.DetachError, path.Child("detachError"))...)
}

func validateVolumeError(e *storagev1.VolumeError, path *field.Path) (errs field.ErrorList) {
	if e == nil {
		return nil
	}
	if len(e.Message) > maxVolumeMessage {
		errs = append(errs, field.TooLong(path.Child("message"), "", maxVolumeMessage))
	}
	if code := e.ErrorCode; code != nil && *code < 0 {
		errs = append(errs, field.Invalid(path.Child("errorCode"), *code,
			validation.InclusiveRangeError(0, math.MaxInt32)))
	}
	return errs
}
