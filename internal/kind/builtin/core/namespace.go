package core

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// namespaces is a typed kind whose deleted objects remain until their spec.finalizers are empty.
type namespaces struct {
	*kind.Typed[corev1.Namespace, *corev1.Namespace]
}

var _ kind.Kind = namespaces{}

func namespaceKind(cache *object.Cache) kind.Kind {
	return namespaces{kind.NewTyped(cache, kind.Info{
		Kind: "Namespace", Plural: "namespaces", Singular: "namespace", ShortNames: []string{"ns"},
		Endpoints: []kind.Endpoint{{Version: "v1", Selectable: map[string]string{"status.phase": ""},
			NoNamespaceSelector: true}},
		// There is no deletecollection, which would delete everything in the server.
		Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		Subresources: []kind.Subresource{
			{Name: "finalize", Verbs: []string{"update"}},
			{Name: "status", Verbs: []string{"get", "patch", "update"}},
		},
		ValidName: apivalidation.ValidateNamespaceName,
	}, kind.Rules[*corev1.Namespace]{
		Default:  labelWithName,
		Prepare:  prepareNamespace,
		Validate: validateNamespace,
		Fields: func(ns *corev1.Namespace) map[string]string {
			return map[string]string{"status.phase": string(ns.Status.Phase)}
		},
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Status", Type: "string", Description: "The status of the namespace"},
			kind.AgeColumn,
		},
		Row: func(ns *corev1.Namespace, now time.Time) []any {
			return []any{ns.Name, string(ns.Status.Phase), kind.Age(ns.CreationTimestamp.Time, now)}
		},
	})}
}

// labelWithName sets the label with which selectors match a namespace by name. A generated name does not
// exist yet when defaults are applied; then prepareNamespace sets the label.
func labelWithName(ns *corev1.Namespace) {
	if ns.Name == "" {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// prepareNamespace makes a new namespace active, with the finalizer of the namespace controller. Only the
// subresource finalize changes spec.finalizers.
func prepareNamespace(ns, old *corev1.Namespace, sub string) {
	labelWithName(ns)
	switch {
	case old == nil:
		ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
		if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
			ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
		}
	case sub != "finalize":
		ns.Spec.Finalizers = slices.Clone(old.Spec.Finalizers)
	}
}

func validateNamespace(ns, old *corev1.Namespace, sub string) (errs field.ErrorList) {
	path := field.NewPath("spec", "finalizers")
	switch sub {
	case "status":
		return validateNamespacePhase(ns)
	case "finalize":
		for i, f := range ns.Spec.Finalizers {
			errs = append(errs, validateNamespaceFinalizer(path.Index(i), string(f))...)
		}
		return errs
	}
	errs = fieldcheck.Finalizers(ns)
	for _, f := range ns.Spec.Finalizers {
		errs = append(errs, validateNamespaceFinalizer(path, string(f))...)
	}
	return errs
}

func validateNamespacePhase(ns *corev1.Namespace) field.ErrorList {
	path, phase := field.NewPath("status", "Phase"), ns.Status.Phase
	if ns.DeletionTimestamp.IsZero() {
		if phase != corev1.NamespaceActive {
			return field.ErrorList{field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty")}
		}
	} else if phase != corev1.NamespaceTerminating {
		return field.ErrorList{field.Invalid(path, phase,
			"may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}

func validateNamespaceFinalizer(path *field.Path, name string) field.ErrorList {
	return append(apivalidation.ValidateFinalizerName(name, path), fieldcheck.FinalizerDomain(path, name)...)
}

// BeginDelete implements kind.Kind. A namespace without spec.finalizers is removed at once.
func (namespaces) BeginDelete(obj kind.Object) (keep bool) {
	ns := obj.(*corev1.Namespace)
	if len(ns.Spec.Finalizers) == 0 {
		return false
	}
	ns.Status.Phase = corev1.NamespaceTerminating
	return true
}

// Finished implements kind.Kind.
func (namespaces) Finished(obj kind.Object) bool {
	return len(obj.(*corev1.Namespace).Spec.Finalizers) == 0
}
