package core

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// mountableSecretsAnnotation restricts the pods of a service account to the secrets that it lists.
const mountableSecretsAnnotation = "kubernetes.io/enforce-mountable-secrets"

func serviceAccountKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ServiceAccount", Plural: "serviceaccounts", Singular: "serviceaccount", ShortNames: []string{"sa"},
		Namespaced:     true,
		ReturnsDeleted: true,
		Endpoints:      []kind.Endpoint{{Version: "v1"}},
		Subresources:   []kind.Subresource{serviceAccountToken},
	}, kind.Rules[*corev1.ServiceAccount]{
		Prepare:  prepareServiceAccount,
		Validate: func(sa, _ *corev1.ServiceAccount, _ string) field.ErrorList { return fieldcheck.Finalizers(sa) },
		Warnings: serviceAccountWarnings,
		Columns:  []metav1.TableColumnDefinition{kind.NameColumn, kind.AgeColumn},
		Row: func(sa *corev1.ServiceAccount, now time.Time) []any {
			return []any{sa.Name, kind.Age(sa.CreationTimestamp.Time, now)}
		},
	})
}

// prepareServiceAccount drops everything but the names of the referenced secrets, which are in the account's
// namespace.
func prepareServiceAccount(sa, _ *corev1.ServiceAccount, _ string) {
	for i, secret := range sa.Secrets {
		sa.Secrets[i] = corev1.ObjectReference{Name: secret.Name}
	}
}

func serviceAccountWarnings(sa, old *corev1.ServiceAccount) []string {
	if old != nil {
		if _, had := old.Annotations[mountableSecretsAnnotation]; had {
			return nil
		}
	}
	if _, has := sa.Annotations[mountableSecretsAnnotation]; !has {
		return nil
	}
	return []string{fmt.Sprintf(
		"metadata.annotations[%s]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
		mountableSecretsAnnotation)}
}
