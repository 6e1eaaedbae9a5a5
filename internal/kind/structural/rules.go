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

// rules are the x-kubernetes-validations of a schema: CEL expressions (KEP-2876). Compiling takes
// milliseconds and most definitions of a server have no objects, so they are compiled for the first object.
// The library compiles them again when a rule fails for the first time.
type rules struct {
	tree    func() *ruleTree
	library func() *cel.Validator
}

// rulesOf returns the rules of a schema, or nil if it has none.
func rulesOf(s *schema.Structural) *rules {
	if !hasRules(s) {
		return nil
	}
	return &rules{
		tree:    sync.OnceValue(func() *ruleTree { return newRuleTree(s, s, true) }),
		library: sync.OnceValue(func() *cel.Validator { return cel.NewValidator(s, true, celconfig.PerCallLimit) }),
	}
}

// hasRules reports whether a schema contains rules.
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

// blocking are the types of errors after which Kubernetes runs no rules, because rules rely on the types and
// sizes of the schema.
var blocking = []field.ErrorType{
	field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
	field.ErrorTypeTypeInvalid,
}

// check adds the errors of rules to errs, the errors of the schema. change correlates an updated object with
// its old state; it is nil for a create, which skips rules about oldSelf. On an update, errors of unchanged
// values are only warnings (KEP-4008). The rules of an object share Kubernetes' cost limit, roughly a second,
// and stop when ctx ends. What that cost does not cover is limited by package expression.
func (r *rules) check(ctx context.Context, obj map[string]any, change *common.CorrelatedObject,
	errs field.ErrorList) field.ErrorList {
	if r == nil {
		return errs
	}
	if slices.ContainsFunc(errs, func(e *field.Error) bool { return slices.Contains(blocking, e.Type) }) {
		return append(errs, field.Invalid(nil, nil,
			"some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	var old any
	var options []cel.Option
	if change != nil {
		old = change.OldValue
		options = append(options, cel.WithRatcheting(change))
	}
	e := newEvaluation(ctx)
	defer e.meter.Close()
	tree := r.tree()
	if err := e.run(tree, obj, old); err != nil {
		return append(errs, err)
	}
	if !e.failed && !tree.unsupported && ctx.Err() == nil {
		return errs
	}
	found, _ := r.library().Validate(ctx, nil, nil, obj, old, celconfig.RuntimeCELCostBudget, options...)
	return append(errs, found...)
}
