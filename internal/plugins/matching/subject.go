package matching

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// Subject is a write in a version of the resource: with the objects in this version or, for a subresource with its own
// kind, as the view (a Scale) or the request body (an Eviction).
type Subject struct {
	Write *admission.Attributes
	// Version is that of the resource, and Kind that of the objects.
	Version schema.GroupVersion
	Kind    schema.GroupVersionKind
	// View is nil unless the subresource has its own kind.
	View *kind.Subresource
	// Now and Before are nil if the write has none.
	Now, Before runtime.Object
}

// NewSubject converts the objects of a write to a version. It copies nothing if they are in this version.
func NewSubject(a *admission.Attributes, gv schema.GroupVersion) (*Subject, error) {
	s := &Subject{Write: a, Version: gv, Kind: gv.WithKind(a.Kind.Kind)}
	if sub := a.ServedKind.Info().Subresource(a.Subresource); sub != nil &&
		(sub.View != nil || sub.New != nil && sub.Kind == a.Kind) {
		s.View, s.Kind = sub, sub.Kind
	}
	var err error
	if s.Before, err = s.show(a.Old); err != nil {
		return nil, err
	}
	return s, s.Update()
}

// Update sets Now from the object of the write, after it was changed.
func (s *Subject) Update() (err error) {
	s.Now, err = s.show(s.Write.Object)
	return err
}

// show returns an object as the subject shows it.
func (s *Subject) show(obj kind.Object) (shown runtime.Object, err error) {
	switch {
	case obj == nil:
		return nil, nil
	case s.View == nil:
		shown, err = s.Write.ServedKind.Convert(obj, s.Version.String())
	case s.View.View == nil:
		shown = obj
	default:
		shown, err = s.View.View(obj)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return shown, nil
}

// RequestKind returns the kind of the request: that of its version, or of its subresource.
func (s *Subject) RequestKind() schema.GroupVersionKind {
	if s.View != nil {
		return s.View.Kind
	}
	return s.Write.Kind
}

// Record returns the write as Kubernetes' CEL libraries read it.
func (s *Subject) Record() k8sadmission.Attributes {
	a := s.Write
	return k8sadmission.NewAttributesRecord(s.Now, s.Before, s.RequestKind(), NamespaceOf(a), a.Name, a.Resource,
		a.Subresource, k8sadmission.Operation(a.Operation), s.Options(), a.DryRun,
		&user.DefaultInfo{Name: a.User, UID: a.UserUID, Groups: a.Groups, Extra: a.Extra})
}

// Options returns the options of the write as webhooks and expressions see them.
func (s *Subject) Options() runtime.Object {
	a := s.Write
	var dryRun []string
	if a.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	of := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind} }
	switch a.Operation {
	case admission.Create:
		return &metav1.CreateOptions{TypeMeta: of("CreateOptions"), DryRun: dryRun, FieldManager: a.FieldManager,
			FieldValidation: a.FieldValidation}
	case admission.Update:
		return &metav1.UpdateOptions{TypeMeta: of("UpdateOptions"), DryRun: dryRun, FieldManager: a.FieldManager,
			FieldValidation: a.FieldValidation}
	case admission.Connect:
		return nil
	}
	options := &metav1.DeleteOptions{}
	if a.Deletion != nil {
		options = a.Deletion.DeepCopy()
	}
	options.TypeMeta = of("DeleteOptions")
	return options
}

// AuthorizerOf returns the authorizer for expressions. If the server has none, authorization checks fail, so that the
// failure policy decides.
func AuthorizerOf(a *admission.Attributes) authorizer.UnconditionalAuthorizer {
	if a.Authorizer == nil {
		return noAuthorizer{}
	}
	return a.Authorizer
}

type noAuthorizer struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (noAuthorizer) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", errors.New("the server has no authorizer")
}
