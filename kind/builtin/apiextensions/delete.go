package apiextensions

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/kind"
)

var _ kind.DeletePreparer = (*definitions)(nil)

// BeginDelete implements kind.DeletePreparer: a definition stays until its instances are gone.
func (d *definitions) BeginDelete(obj kind.Object) bool {
	crd := obj.(*definition)
	if crd.DeletionTimestamp == nil {
		MarkDeleted(crd, metav1.Now())
	}
	return true
}

// Finished implements kind.DeletePreparer: the finalizer alone holds a definition.
func (d *definitions) Finished(kind.Object) bool { return true }

// NamesAccepted says that a definition has all the names that it asks for.
func NamesAccepted(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionTrue
	})
}
