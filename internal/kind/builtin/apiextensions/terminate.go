package apiextensions

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Finalizer holds a deleted definition until its instances are gone. As in Kubernetes it is set by the deletion, not
// by the creation.
const Finalizer = apiextensionsv1.CustomResourceCleanupFinalizer

// definitions is a typed kind that holds its deleted objects until their instances are gone.
type definitions struct {
	*kind.Typed[definition, *definition]
}

var _ kind.DeletePreparer = (*definitions)(nil)

// BeginDelete implements kind.DeletePreparer: a definition stays until its instances are gone.
func (d *definitions) BeginDelete(obj kind.Object) bool {
	if crd := obj.(*definition); crd.DeletionTimestamp == nil {
		markDeleted(crd, metav1.Now())
	}
	return true
}

// Finished implements kind.DeletePreparer: the finalizer alone holds a definition.
func (d *definitions) Finished(kind.Object) bool { return true }

// markDeleted is what the first DELETE changes beside the deletion timestamp, which the request pipeline sets.
func markDeleted(crd *definition, now metav1.Time) {
	if !slices.Contains(crd.Finalizers, Finalizer) {
		crd.Finalizers = append(crd.Finalizers, Finalizer)
	}
	setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon", now)
}

// InstancesDeleting says in the status that the instances are being deleted, and whether it did not say so yet.
func InstancesDeleting(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time) (changed bool) {
	return setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "CustomResource deletion is in progress", now)
}

// InstancesNotDeleted says in the status why the instances could not be deleted, and whether it did not say so yet.
func InstancesNotDeleted(crd *apiextensionsv1.CustomResourceDefinition, err error, now metav1.Time) (changed bool) {
	return setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionFailed", "could not issue all deletes: "+err.Error(), now)
}

// InstancesDeleted lets a definition go whose instances are gone, or never were: it takes the finalizer off.
func InstancesDeleted(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time) {
	reason, message := "NeverEstablished", "resource was never established"
	if IsEstablished(crd) {
		reason, message = "InstanceDeletionCompleted", "removed all instances"
	}
	setTerminating(crd, apiextensionsv1.ConditionFalse, reason, message, now)
	crd.Finalizers = slices.DeleteFunc(crd.Finalizers, func(name string) bool { return name == Finalizer })
}

func setTerminating(crd *definition, status apiextensionsv1.ConditionStatus, reason, message string, now metav1.Time) (changed bool) {
	before := slices.Clone(crd.Status.Conditions)
	setCondition(crd, condition(apiextensionsv1.Terminating, status, reason, message), now)
	return !equality.Semantic.DeepEqual(before, crd.Status.Conditions)
}
