package request

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
)

// WriteOptions are the query parameters of a create, update or patch.
type WriteOptions struct {
	DryRun bool
	// Strict rejects unknown and duplicate fields; Warn answers with a Warning for each. If both are false
	// they are ignored.
	Strict, Warn bool
	// Manager becomes the owner of the fields that the write changes; Force lets an apply take fields from
	// other managers.
	Manager string
	Force   bool
	// Uninitialized reports whether a create does not wait for initializers.
	Uninitialized bool
	// AskedManager and AskedValidation are the client's fieldManager and fieldValidation; empty if it sent none.
	AskedManager, AskedValidation string
}

// Lenient reports whether unknown and duplicate fields are ignored.
func (o *WriteOptions) Lenient() bool { return !o.Strict && !o.Warn }

// WriteOptions parses the options of a write. patch is the type of a patch; empty for other verbs.
func (r *Request) WriteOptions(patch types.PatchType) (o WriteOptions, err error) {
	var dryRun []string
	if r.Query != nil {
		switch {
		case patch != "":
			var v metav1.PatchOptions
			if err = ReadOptions(r.Query, &v, metav1.Convert_url_Values_To_v1_PatchOptions); err != nil {
				return o, err
			}
			dryRun, o.AskedValidation, o.AskedManager = v.DryRun, v.FieldValidation, v.FieldManager
			o.Force = v.Force != nil && *v.Force
			err = InvalidOptions("PatchOptions", metavalidation.ValidatePatchOptions(&v, patch))
		case r.Verb == "create":
			var v metav1.CreateOptions
			if err = ReadOptions(r.Query, &v, metav1.Convert_url_Values_To_v1_CreateOptions); err != nil {
				return o, err
			}
			dryRun, o.AskedValidation, o.AskedManager = v.DryRun, v.FieldValidation, v.FieldManager
			err = InvalidOptions("CreateOptions", metavalidation.ValidateCreateOptions(&v))
		default:
			var v metav1.UpdateOptions
			if err = ReadOptions(r.Query, &v, metav1.Convert_url_Values_To_v1_UpdateOptions); err != nil {
				return o, err
			}
			dryRun, o.AskedValidation, o.AskedManager = v.DryRun, v.FieldValidation, v.FieldManager
			err = InvalidOptions("UpdateOptions", metavalidation.ValidateUpdateOptions(&v))
		}
	} else if patch != "" {
		err = InvalidOptions("PatchOptions", metavalidation.ValidatePatchOptions(&metav1.PatchOptions{}, patch))
	}
	o.DryRun = len(dryRun) > 0
	o.Strict = o.AskedValidation == metav1.FieldValidationStrict
	o.Warn = o.AskedValidation == "" || o.AskedValidation == metav1.FieldValidationWarn
	o.Uninitialized = Flag(r.Query, "includeUninitialized")
	if o.Manager = o.AskedManager; o.Manager == "" {
		o.Manager = managerOf(r.UserAgent)
	}
	return o, err
}

// managerOf derives the name of a manager from a User-Agent header: the printable characters before the first
// slash, up to the maximum length of a manager's name.
func managerOf(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	var out strings.Builder
	for _, r := range name {
		if !unicode.IsPrint(r) {
			continue
		}
		if out.Len()+utf8.RuneLen(r) > metavalidation.FieldManagerMaxLength {
			break
		}
		out.WriteRune(r)
	}
	return out.String()
}

// ReadOptions decodes query parameters into an options struct with the conversion that the struct's package
// generated.
func ReadOptions[T any](q url.Values, into *T, convert func(*url.Values, *T, conversion.Scope) error) error {
	if err := convert(&q, into, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// InvalidOptions returns the 422 of invalid options, such as ListOptions, or nil.
func InvalidOptions(name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return kind.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: name}, "", errs)
}

// ListOptions parses the options of a list, watch or deletecollection. A watch without a resourceVersion sends
// the initial state, as if the client had set sendInitialEvents.
func (r *Request) ListOptions() (*internalversion.ListOptions, error) {
	var v1 metav1.ListOptions
	if err := ReadOptions(r.Query, &v1, metav1.Convert_url_Values_To_v1_ListOptions); err != nil {
		return nil, err
	}
	var o internalversion.ListOptions
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&v1, &o, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o.Watch = r.Verb == "watch"
	internalversion.SetListOptionsDefaults(&o, true)
	return &o, InvalidOptions("ListOptions", listvalidation.ValidateListOptions(&o, true))
}
