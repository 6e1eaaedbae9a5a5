package server

import (
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// writeOptions are the query parameters of a create, update or patch.
type writeOptions struct {
	dryRun bool
	// strict rejects unknown and duplicate fields; warn answers with a Warning for each. If both are false
	// they are ignored.
	strict, warn bool
	// manager becomes the owner of the fields that the write changes; force lets an apply take fields from
	// other managers.
	manager string
	force   bool
	// asked holds the client's fieldManager and fieldValidation; empty if it sent none.
	asked struct{ manager, validation string }
	// admitted reports whether the plugins were already called, with the body of an act.
	admitted bool
	// owned reports whether the new state already has its ownership.
	owned bool
	// uninitialized reports whether a create does not wait for initializers.
	uninitialized bool
}

func newWriteOptions(r *http.Request, dryRun []string, fieldValidation, manager string) writeOptions {
	o := writeOptions{
		dryRun:        len(dryRun) > 0,
		strict:        fieldValidation == metav1.FieldValidationStrict,
		warn:          fieldValidation == "" || fieldValidation == metav1.FieldValidationWarn,
		manager:       manager,
		uninitialized: r.URL.RawQuery != "" && asksUninitialized(r.URL.Query()),
	}
	o.asked.manager, o.asked.validation = manager, fieldValidation
	if manager == "" {
		o.manager = managerOf(r.UserAgent())
	}
	return o
}

// readOptions decodes query parameters into an options struct with the conversion that the struct's package
// generated.
func readOptions[T any](q url.Values, into *T, convert func(*url.Values, *T, conversion.Scope) error) error {
	if err := convert(&q, into, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// invalidOptions returns the 422 of invalid options, or nil.
func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func createOptions(r *http.Request) (writeOptions, error) {
	if r.URL.RawQuery == "" {
		return newWriteOptions(r, nil, "", ""), nil
	}
	var o metav1.CreateOptions
	if err := readOptions(r.URL.Query(), &o, metav1.Convert_url_Values_To_v1_CreateOptions); err != nil {
		return writeOptions{}, err
	}
	return newWriteOptions(r, o.DryRun, o.FieldValidation, o.FieldManager),
		invalidOptions("CreateOptions", metavalidation.ValidateCreateOptions(&o))
}

func updateOptions(r *http.Request) (writeOptions, error) {
	if r.URL.RawQuery == "" {
		return newWriteOptions(r, nil, "", ""), nil
	}
	var o metav1.UpdateOptions
	if err := readOptions(r.URL.Query(), &o, metav1.Convert_url_Values_To_v1_UpdateOptions); err != nil {
		return writeOptions{}, err
	}
	return newWriteOptions(r, o.DryRun, o.FieldValidation, o.FieldManager),
		invalidOptions("UpdateOptions", metavalidation.ValidateUpdateOptions(&o))
}

func patchOptions(r *http.Request, t types.PatchType) (writeOptions, error) {
	var o metav1.PatchOptions
	if err := readOptions(r.URL.Query(), &o, metav1.Convert_url_Values_To_v1_PatchOptions); err != nil {
		return writeOptions{}, err
	}
	w := newWriteOptions(r, o.DryRun, o.FieldValidation, o.FieldManager)
	w.force = o.Force != nil && *o.Force
	return w, invalidOptions("PatchOptions", metavalidation.ValidatePatchOptions(&o, t))
}

// listOptions reads the options of a list, watch or deletecollection. A watch without a resourceVersion sends
// the initial state, as if the client had set sendInitialEvents.
func (c *call) listOptions(q url.Values) (*internalversion.ListOptions, error) {
	var v1 metav1.ListOptions
	if err := readOptions(q, &v1, metav1.Convert_url_Values_To_v1_ListOptions); err != nil {
		return nil, err
	}
	var o internalversion.ListOptions
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&v1, &o, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o.Watch = c.verb == "watch"
	internalversion.SetListOptionsDefaults(&o, true)
	return &o, invalidOptions("ListOptions", listvalidation.ValidateListOptions(&o, true))
}
