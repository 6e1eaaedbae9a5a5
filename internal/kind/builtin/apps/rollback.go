package apps

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
)

// deploymentRollback is the subresource that kubectl rollout undo used before Kubernetes 1.16: it records the
// target revision in the deployment, and the controller rolls back. Today's clients patch the template.
var deploymentRollback = kind.Subresource{
	Name:  "rollback",
	Only:  extensions,
	Kind:  extensions.WithKind("DeploymentRollback"),
	Verbs: []string{"create"},
	New:   func() runtime.Object { return &extensionsv1beta1.DeploymentRollback{} },
	Apply: func(obj kind.Object, body runtime.Object) error {
		return requestRollback(obj.(*appsv1.Deployment), body.(*extensionsv1beta1.DeploymentRollback))
	},
	Message: func(body runtime.Object) string {
		return fmt.Sprintf("rollback request for deployment %q succeeded",
			body.(*extensionsv1beta1.DeploymentRollback).Name)
	},
}

func requestRollback(d *appsv1.Deployment, r *extensionsv1beta1.DeploymentRollback) error {
	if errs := validateRollback(r); len(errs) > 0 {
		return kind.NewInvalid(schema.GroupKind{Group: "apps", Kind: "DeploymentRollback"}, r.Name, errs)
	}
	if r.Name != d.Name {
		return apierrors.NewBadRequest("name in URL does not match name in DeploymentRollback object")
	}
	setRollback(d, r.RollbackTo.Revision)
	maps.Copy(d.Annotations, r.UpdatedAnnotations)
	return nil
}

func validateRollback(r *extensionsv1beta1.DeploymentRollback) field.ErrorList {
	errs := apivalidation.ValidateAnnotations(r.UpdatedAnnotations, field.NewPath("updatedAnnotations"))
	if r.Name == "" {
		errs = append(errs, field.Required(field.NewPath("name"), ""))
	}
	return append(errs, apivalidation.ValidateNonnegativeField(r.RollbackTo.Revision,
		field.NewPath("rollback", "version"))...)
}
