package apiextensions

import (
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/bowline-dev/bowline/internal/kind"
)

// NameScope is a set of names that must be unique within an API group.
type NameScope string

const (
	// ResourceNames are plural, singular and short names.
	ResourceNames NameScope = "resources"
	// KindNames are kinds and list kinds.
	KindNames NameScope = "kinds"
)

// Taken reports whether another kind of the definition's group has a name.
type Taken func(in NameScope, name string) bool

// TakenIn returns a Taken for the kinds that a server serves. Names of crd's own kind are not taken; those of
// a built-in kind are, even if it has the same plural.
func TakenIn(kinds []kind.Kind, crd *apiextensionsv1.CustomResourceDefinition) Taken {
	names := map[NameScope]map[string]bool{ResourceNames: {}, KindNames: {}}
	for _, k := range kinds {
		info := k.Info()
		if !serves(info, crd.Spec.Group) || !info.Builtin && info.Plural == crd.Spec.Names.Plural {
			continue
		}
		for _, name := range append([]string{info.Plural, info.Singular}, info.ShortNames...) {
			names[ResourceNames][name] = true
		}
		names[KindNames][info.Kind], names[KindNames][info.ListKind()] = true, true
	}
	return func(in NameScope, name string) bool { return names[in][name] }
}

func serves(info *kind.Info, group string) bool {
	return slices.ContainsFunc(info.Endpoints, func(e kind.Endpoint) bool { return e.Group == group })
}

// Establish decides which names a definition gets and whether it is served, and updates its status: the
// accepted names, and the conditions NamesAccepted, Established, NonStructuralSchema and
// KubernetesAPIApprovalPolicyConformant, if they apply. It reports whether it changed anything. An
// established definition remains established. Establish must be called when the names or the spec of a
// definition change. When a definition is deleted or renamed, it must be called for those definitions of its
// group whose names were not accepted.
func Establish(crd *apiextensionsv1.CustomResourceDefinition, taken Taken, now metav1.Time) bool {
	before := crd.Status.DeepCopy()
	accepted, naming := acceptNames(crd, taken)
	crd.Status.AcceptedNames = accepted
	setCondition(crd, naming, now)
	if !IsEstablished(crd) {
		setCondition(crd, establishing(crd, naming.Status), now)
	}
	if approval, ok := approval(crd); ok {
		setCondition(crd, approval, now)
	}
	if structure, ok := nonStructural(crd); ok {
		setCondition(crd, structure, now)
	} else {
		crd.Status.Conditions = slices.DeleteFunc(crd.Status.Conditions,
			func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.NonStructuralSchema
			})
	}
	return !equality.Semantic.DeepEqual(before, &crd.Status)
}

// CheckServable returns an error for a definition that must not be served, whatever its conditions say. Validation
// rejects such a definition, but a tampered backup may contain one.
func CheckServable(crd *apiextensionsv1.CustomResourceDefinition) error {
	names := crd.Spec.Names
	c := crd.Spec.Conversion
	byWebhook := c != nil && c.Strategy == apiextensionsv1.WebhookConverter
	switch {
	case crd.Spec.Group == "":
		return errors.New("its group is empty")
	case names.Plural == "" || names.Kind == "" || crd.Name != names.Plural+"."+crd.Spec.Group:
		return fmt.Errorf("it defines %q in the group %q under another name", names.Plural, crd.Spec.Group)
	case byWebhook && (c.Webhook == nil || c.Webhook.ClientConfig == nil):
		return errors.New("its conversion webhook has no configuration")
	}
	return nil
}

// NamesAccepted reports whether all names in the spec of a definition are accepted.
func NamesAccepted(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return isTrue(crd, apiextensionsv1.NamesAccepted)
}

// IsEstablished reports whether the objects of a definition are served.
func IsEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return isTrue(crd, apiextensionsv1.Established)
}

func isTrue(crd *definition, kind apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == kind && c.Status == apiextensionsv1.ConditionTrue
	})
}

// establishing returns the Established condition of a definition that was not established before.
func establishing(crd *definition,
	named apiextensionsv1.ConditionStatus) apiextensionsv1.CustomResourceDefinitionCondition {
	switch {
	case named != apiextensionsv1.ConditionTrue:
		return condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted",
			"not all names are accepted")
	case !bundleParses(crd.Spec.Conversion):
		return condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "InvalidCABundle",
			"The conversion webhook CABundle is invalid")
	}
	return condition(apiextensionsv1.Established, apiextensionsv1.ConditionTrue, "InitialNamesAccepted",
		"the initial names have been accepted")
}

// bundleParses reports whether the CA bundle of a conversion webhook, if there is one, is valid. A new
// definition may have an invalid bundle, but is not served until it is corrected.
func bundleParses(c *apiextensionsv1.CustomResourceConversion) bool {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return true
	}
	return len(webhook.ValidateCABundle(nil, c.Webhook.ClientConfig.CABundle)) == 0
}

// acceptNames accepts each name in the spec that no other kind has. If a name is taken, the previously
// accepted name is retained; the condition reports the last taken name.
func acceptNames(crd *definition,
	taken Taken) (apiextensionsv1.CustomResourceDefinitionNames, apiextensionsv1.CustomResourceDefinitionCondition) {
	requested, current := crd.Spec.Names, crd.Status.AcceptedNames
	accepted := *current.DeepCopy()
	accepted.Categories = slices.Clone(requested.Categories)
	result := condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts",
		"no conflicts found")
	refuse := func(reason string, err error) {
		result = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, reason, err.Error())
	}
	choose := func(in NameScope, reason, requested, current string) string {
		if requested != current && taken(in, requested) {
			refuse(reason, inUse(requested))
			return current
		}
		return requested
	}
	accepted.Plural = choose(ResourceNames, "PluralConflict", requested.Plural, current.Plural)
	accepted.Singular = choose(ResourceNames, "SingularConflict", requested.Singular, current.Singular)
	if err := shortNamesTaken(requested.ShortNames, current.ShortNames, taken); err != nil {
		refuse("ShortNamesConflict", err)
	} else {
		accepted.ShortNames = slices.Clone(requested.ShortNames)
	}
	accepted.Kind = choose(KindNames, "KindConflict", requested.Kind, current.Kind)
	accepted.ListKind = choose(KindNames, "ListKindConflict", requested.ListKind, current.ListKind)
	return accepted, result
}

func inUse(name string) error { return fmt.Errorf("%q is already in use", name) }

// shortNamesTaken returns an error for the requested short names that another kind has.
func shortNamesTaken(requested, current []string, taken Taken) error {
	var errs []error
	for _, name := range requested {
		if !slices.Contains(current, name) && taken(ResourceNames, name) {
			errs = append(errs, inUse(name))
		}
	}
	return utilerrors.NewAggregate(errs)
}
