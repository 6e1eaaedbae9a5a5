package apiextensions

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Finalizer blocks the removal of a deleted definition until its instances are gone. As in Kubernetes, the
// deletion sets it, not the creation.
const Finalizer = apiextensionsv1.CustomResourceCleanupFinalizer

// definitions is a typed kind whose deleted objects remain until their instances are gone.
type definitions struct {
	*kind.Typed[definition, *definition]
}

var _ kind.Kind = (*definitions)(nil)

// BeginDelete implements kind.Kind: it adds the finalizer and the condition Terminating.
func (d *definitions) BeginDelete(obj kind.Object) bool {
	if crd := obj.(*definition); crd.DeletionTimestamp == nil {
		markDeleted(crd, metav1.Now())
	}
	return true
}

// Finished implements kind.Kind: only the finalizer blocks the removal of a definition.
func (d *definitions) Finished(kind.Object) bool { return true }

// markDeleted makes the changes of the first DELETE, except for the deletion timestamp, which the request
// pipeline sets.
func markDeleted(crd *definition, now metav1.Time) {
	if !slices.Contains(crd.Finalizers, Finalizer) {
		crd.Finalizers = append(crd.Finalizers, Finalizer)
	}
	setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon", now)
}

// SetInstancesDeleting sets the condition that the instances are being deleted, and reports whether it changed.
func SetInstancesDeleting(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time) (changed bool) {
	return setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress",
		"CustomResource deletion is in progress", now)
}

// SetInstancesNotDeleted sets the condition that deleting instances failed with err, and reports whether it
// changed.
func SetInstancesNotDeleted(crd *apiextensionsv1.CustomResourceDefinition, err error, now metav1.Time) (changed bool) {
	return setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionFailed",
		"could not issue all deletes: "+err.Error(), now)
}

// SetInstancesDeleted removes the finalizer of a definition that has no instances left.
func SetInstancesDeleted(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time) {
	reason, message := "NeverEstablished", "resource was never established"
	if IsEstablished(crd) {
		reason, message = "InstanceDeletionCompleted", "removed all instances"
	}
	setTerminating(crd, apiextensionsv1.ConditionFalse, reason, message, now)
	crd.Finalizers = slices.DeleteFunc(crd.Finalizers, func(name string) bool { return name == Finalizer })
}

func setTerminating(crd *definition, status apiextensionsv1.ConditionStatus, reason, message string,
	now metav1.Time) (changed bool) {
	before := slices.Clone(crd.Status.Conditions)
	setCondition(crd, condition(apiextensionsv1.Terminating, status, reason, message), now)
	return !equality.Semantic.DeepEqual(before, crd.Status.Conditions)
}
