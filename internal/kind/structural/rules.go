package structural

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// rules are the x-kubernetes-validations of a schema: expressions in CEL (KEP-2876). They are compiled when the first
// object comes, since that takes milliseconds and most definitions of a server have no objects; and again by the library
// when one does not hold for the first time.
type rules struct {
	tree    func() *ruleTree
	library func() *cel.Validator
	// quantities says that rules read strings as quantities.
	quantities bool
}

// rulesOf are the rules of a schema, nil when it has none.
func rulesOf(s *schema.Structural) *rules {
	if !hasRules(s) {
		return nil
	}
	return &rules{
		tree:       sync.OnceValue(func() *ruleTree { return newRuleTree(s, true) }),
		library:    sync.OnceValue(func() *cel.Validator { return cel.NewValidator(s, true, celconfig.PerCallLimit) }),
		quantities: readsQuantities(s),
	}
}

// hasRules says whether a schema has rules anywhere.
func hasRules(s *schema.Structural) bool {
	if s == nil {
		return false
	}
	found := false
	visitor := schema.Visitor{Structural: func(s *schema.Structural) bool {
		found = found || len(s.XValidations) > 0
		return false
	}}
	visitor.Visit(s)
	return found
}

// blocking are the errors after which Kubernetes runs no rules: they could not rely on the types and sizes of the schema.
var blocking = []field.ErrorType{
	field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
}

// check adds what the rules say of an object, of which errs is wrong otherwise. change correlates the object with the
// one that it replaces and is nil for a create: a rule about oldSelf has nothing to compare then, and what is as it was
// before is a warning only (KEP-4008). All rules together may cost what Kubernetes lets one object cost, roughly a
// second, and end with ctx.
func (r *rules) check(ctx context.Context, obj map[string]any, change *common.CorrelatedObject, errs field.ErrorList) field.ErrorList {
	if r == nil {
		return errs
	}
	if slices.ContainsFunc(errs, func(e *field.Error) bool { return slices.Contains(blocking, e.Type) }) {
		return append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	if r.quantities {
		if err := vastQuantity(nil, obj); err != nil {
			return append(errs, err)
		}
	}
	var old any
	var options []cel.Option
	if change != nil {
		old = change.OldValue
		options = append(options, cel.WithRatcheting(change))
	}
	budget := uint64(celconfig.RuntimeCELCostBudget)
	if r.tree().hold(ctx, obj, old, &budget) {
		return errs
	}
	found, _ := r.library().Validate(ctx, nil, nil, obj, old, celconfig.RuntimeCELCostBudget, options...)
	return append(errs, found...)
}
