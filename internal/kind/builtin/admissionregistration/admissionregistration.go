// Package admissionregistration defines the kinds of the admissionregistration.k8s.io group that configure
// admission: mutating and validating webhook configurations, as v1, the stored version, and as v1beta1, which
// Kubernetes no longer serves but old manifests use; validating and mutating policies, whose rules are CEL
// expressions, and their bindings (the files policy*.go); and initializer configurations, v1alpha1 of Kubernetes
// 1.7 to 1.13. Validation follows Kubernetes 1.36 for webhooks, 1.37 for policies and 1.13 for initializers
// (pkg/apis/admissionregistration/validation).
//
// The admission plugins read these configurations and call the webhooks. Package internal/kind/builtin
// registers the kinds.
package admissionregistration

import (
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

const (
	hub    = "admissionregistration.k8s.io/v1"
	legacy = "admissionregistration.k8s.io/v1beta1"
)

type (
	mutating   = admissionv1.MutatingWebhookConfiguration
	validating = admissionv1.ValidatingWebhookConfiguration
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		mutatingKind(cache), validatingKind(cache), initializerKind(cache), validatingPolicyKind(cache),
		validatingBindingKind(cache), mutatingPolicyKind(cache), mutatingBindingKind(cache),
	}
}

func mutatingKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, info("MutatingWebhookConfiguration"), kind.Rules[*mutating]{
		Default: func(c *mutating) {
			for i := range c.Webhooks {
				defaultWebhook(mutatingView(&c.Webhooks[i]))
			}
		},
		Validate: func(c, old *mutating, _ string) fieldErrors {
			a, hooks := allowed(c.APIVersion), mutatingViews(c)
			if old != nil {
				a = allowedBefore(a, hooks, mutatingViews(old))
			}
			return validateWebhooks(hooks, a)
		},
		Warnings: func(c, _ *mutating) []string { return warnings(c.Name) },
		Columns:  columns,
		Row: func(c *mutating, now time.Time) []any {
			return []any{c.Name, int64(len(c.Webhooks)), kind.Age(c.CreationTimestamp.Time, now)}
		},
		Versions: map[string]kind.Version[*mutating]{legacy: {
			New: func() runtime.Object { return &admissionv1beta1.MutatingWebhookConfiguration{} },
			ToHub: func(obj runtime.Object) (*mutating, error) {
				old := obj.(*admissionv1beta1.MutatingWebhookConfiguration)
				defaultLegacyMutating(old)
				return convertJSON(old, &mutating{})
			},
			FromHub: func(c *mutating) (runtime.Object, error) {
				return inLegacy(c, &admissionv1beta1.MutatingWebhookConfiguration{})
			},
		}},
	})
}

func validatingKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, info("ValidatingWebhookConfiguration"), kind.Rules[*validating]{
		Default: func(c *validating) {
			for i := range c.Webhooks {
				defaultWebhook(validatingView(&c.Webhooks[i]))
			}
		},
		Validate: func(c, old *validating, _ string) fieldErrors {
			a, hooks := allowed(c.APIVersion), validatingViews(c)
			if old != nil {
				a = allowedBefore(a, hooks, validatingViews(old))
			}
			return validateWebhooks(hooks, a)
		},
		Warnings: func(c, _ *validating) []string { return warnings(c.Name) },
		Columns:  columns,
		Row: func(c *validating, now time.Time) []any {
			return []any{c.Name, int64(len(c.Webhooks)), kind.Age(c.CreationTimestamp.Time, now)}
		},
		Versions: map[string]kind.Version[*validating]{legacy: {
			New: func() runtime.Object { return &admissionv1beta1.ValidatingWebhookConfiguration{} },
			ToHub: func(obj runtime.Object) (*validating, error) {
				old := obj.(*admissionv1beta1.ValidatingWebhookConfiguration)
				defaultLegacyValidating(old)
				return convertJSON(old, &validating{})
			},
			FromHub: func(c *validating) (runtime.Object, error) {
				return inLegacy(c, &admissionv1beta1.ValidatingWebhookConfiguration{})
			},
		}},
	})
}

func info(name string) kind.Info {
	singular := strings.ToLower(name)
	return kind.Info{
		Kind: name, Plural: singular + "s", Singular: singular, Categories: []string{"api-extensions"},
		Endpoints: []kind.Endpoint{
			{Group: admissionv1.GroupName, Version: "v1"},
			{Group: admissionv1.GroupName, Version: "v1beta1", Deprecated: legacy + " " + name +
				" is deprecated in v1.16+, unavailable in v1.22+; use " + hub + " " + name},
		},
		Generation: true, ConditionalUpdate: true,
	}
}

var columns = []metav1.TableColumnDefinition{
	kind.NameColumn,
	{Name: "Webhooks", Type: "integer",
		Description: "Webhooks indicates the number of webhooks registered in this configuration"},
	kind.AgeColumn,
}

// staticSuffix is the suffix that Kubernetes reserves for configurations in files of the server.
const staticSuffix = ".static.k8s.io"

func warnings(name string) []string {
	if !strings.HasSuffix(name, staticSuffix) {
		return nil
	}
	return []string{`metadata.name: names ending with "` + staticSuffix +
		`" are reserved for static manifest-based configurations and cannot be managed via the API`}
}
