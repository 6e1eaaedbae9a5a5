package apiextensions

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/bowline-dev/bowline/internal/kind"
)

// NameSpace is what a name must be unique in, within one API group.
type NameSpace string

const (
	// ResourceNames are plurals, singulars and short names.
	ResourceNames NameSpace = "resources"
	// KindNames are kinds and list kinds.
	KindNames NameSpace = "kinds"
)

// Taken says whether another kind of the definition's group has a name.
type Taken func(in NameSpace, name string) bool

// TakenIn makes Taken from the kinds that a server serves. A name of the kind that crd itself made is not taken; one of
// a built-in kind is, also under the same plural.
func TakenIn(kinds []kind.Kind, crd *apiextensionsv1.CustomResourceDefinition) Taken {
	names := map[NameSpace]map[string]bool{ResourceNames: {}, KindNames: {}}
	for _, k := range kinds {
		info := k.Info()
		if !serves(info, crd.Spec.Group) || custom(k) && info.Plural == crd.Spec.Names.Plural {
			continue
		}
		for _, name := range append([]string{info.Plural, info.Singular}, info.ShortNames...) {
			names[ResourceNames][name] = true
		}
		names[KindNames][info.Kind], names[KindNames][info.ListKind()] = true, true
	}
	return func(in NameSpace, name string) bool { return names[in][name] }
}

func serves(info *kind.Info, group string) bool {
	return slices.ContainsFunc(info.Endpoints, func(e kind.Endpoint) bool { return e.Group == group })
}

// custom says that a kind was made from a definition.
func custom(k kind.Kind) bool {
	_, ok := k.(kind.Schematic)
	return ok
}

// Establish decides which names a definition gets and whether it is served, and writes that into its status: the
// accepted names, and the conditions NamesAccepted, Established, NonStructuralSchema and
// KubernetesAPIApprovalPolicyConformant where they apply. It says whether it changed anything. Once established, a
// definition stays so. It must be called for a definition whose names or spec changed, and again for the others of its
// group whose names were not accepted when one of them is deleted or renamed.
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
		crd.Status.Conditions = slices.DeleteFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.NonStructuralSchema
		})
	}
	return !equality.Semantic.DeepEqual(before, &crd.Status)
}

// NamesAccepted says that a definition has all the names that it asks for.
func NamesAccepted(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return isTrue(crd, apiextensionsv1.NamesAccepted)
}

// IsEstablished says that the objects of a definition are served.
func IsEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return isTrue(crd, apiextensionsv1.Established)
}

func isTrue(crd *definition, kind apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == kind && c.Status == apiextensionsv1.ConditionTrue
	})
}

// establishing is the condition of a definition that is not established yet.
func establishing(crd *definition, named apiextensionsv1.ConditionStatus) apiextensionsv1.CustomResourceDefinitionCondition {
	switch {
	case named != apiextensionsv1.ConditionTrue:
		return condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted")
	case !bundleParses(crd.Spec.Conversion):
		return condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "InvalidCABundle", "The conversion webhook CABundle is invalid")
	}
	return condition(apiextensionsv1.Established, apiextensionsv1.ConditionTrue, "InitialNamesAccepted", "the initial names have been accepted")
}

// bundleParses says that the certificates by which a conversion webhook is to be known, if there are any, can be read. A
// new definition may have others, and is not served until they are mended.
func bundleParses(c *apiextensionsv1.CustomResourceConversion) bool {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return true
	}
	return len(webhook.ValidateCABundle(nil, c.Webhook.ClientConfig.CABundle)) == 0
}

// acceptNames gives the definition each name that it asks for and nobody else has. A name that it cannot have leaves
// the one that it had; the condition names the last such.
func acceptNames(crd *definition, taken Taken) (apiextensionsv1.CustomResourceDefinitionNames, apiextensionsv1.CustomResourceDefinitionCondition) {
	asked, had := crd.Spec.Names, crd.Status.AcceptedNames
	accepted := *had.DeepCopy()
	accepted.Categories = slices.Clone(asked.Categories)
	result := condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found")
	refuse := func(reason string, err error) {
		result = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, reason, err.Error())
	}
	take := func(in NameSpace, reason, asked, had string) string {
		if asked != had && taken(in, asked) {
			refuse(reason, inUse(asked))
			return had
		}
		return asked
	}
	accepted.Plural = take(ResourceNames, "PluralConflict", asked.Plural, had.Plural)
	accepted.Singular = take(ResourceNames, "SingularConflict", asked.Singular, had.Singular)
	if err := shortNamesTaken(asked.ShortNames, had.ShortNames, taken); err != nil {
		refuse("ShortNamesConflict", err)
	} else {
		accepted.ShortNames = slices.Clone(asked.ShortNames)
	}
	accepted.Kind = take(KindNames, "KindConflict", asked.Kind, had.Kind)
	accepted.ListKind = take(KindNames, "ListKindConflict", asked.ListKind, had.ListKind)
	return accepted, result
}

func inUse(name string) error { return fmt.Errorf("%q is already in use", name) }

// shortNamesTaken names the short names that the definition asks for, does not have, and cannot get.
func shortNamesTaken(asked, had []string, taken Taken) error {
	var errs []error
	for _, name := range asked {
		if !slices.Contains(had, name) && taken(ResourceNames, name) {
			errs = append(errs, inUse(name))
		}
	}
	return utilerrors.NewAggregate(errs)
}
