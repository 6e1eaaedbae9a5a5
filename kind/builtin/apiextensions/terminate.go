package apiextensions

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Finalizer holds a deleted definition until its instances are gone. As in Kubernetes it is set by the deletion, not
// by the creation.
const Finalizer = apiextensionsv1.CustomResourceCleanupFinalizer

// MarkDeleted makes a definition wait for its instances: it is what the first DELETE changes beside the deletion
// timestamp, which the request pipeline sets.
func MarkDeleted(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time) {
	if !slices.Contains(crd.Finalizers, Finalizer) {
		crd.Finalizers = append(crd.Finalizers, Finalizer)
	}
	setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon", now)
}

// IsTerminating says that a definition is being deleted, so that no more instances may be created.
func IsTerminating(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return !crd.DeletionTimestamp.IsZero() || isTrue(crd, apiextensionsv1.Terminating)
}

// InstancesDeleting says in the status that the instances are being deleted.
func InstancesDeleting(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time) {
	setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "CustomResource deletion is in progress", now)
}

// InstanceDeletionFailed says in the status why instances could not be deleted; the deletion is to be tried again.
func InstanceDeletionFailed(crd *apiextensionsv1.CustomResourceDefinition, err error, now metav1.Time) {
	setTerminating(crd, apiextensionsv1.ConditionTrue, "InstanceDeletionFailed", fmt.Sprintf("could not issue all deletes: %v", err), now)
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

func setTerminating(crd *apiextensionsv1.CustomResourceDefinition, status apiextensionsv1.ConditionStatus, reason, message string, now metav1.Time) {
	setCondition(crd, condition(apiextensionsv1.Terminating, status, reason, message), now)
}
