package structural

import (
	"context"
	"fmt"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// ruleTree holds the compiled rules of a schema, in the structure of the schema. It evaluates all rules with limits,
// and finds out whether all of them hold. If a rule fails, or the tree is unsupported, the library evaluates all rules
// again and words the errors.
type ruleTree struct {
	// unsupported is set for optionalOldSelf, rules in allOf and the like, and rules that do not compile. The tree
	// evaluates what it can, because of the limits, but the library decides whether the rules hold.
	unsupported bool
	schema      *celSchema
	rules       []treeRule
	// allOf are the rules in allOf, for the same value.
	allOf             []*ruleTree
	items, additional *ruleTree
	properties        map[string]*ruleTree
	// correlated reports whether the values of a map correspond to those of the old map.
	correlated bool
}

// treeRule is a rule. message is nil for one without a message expression.
type treeRule struct {
	text             string // for errors
	terms            int    // see expression.Terms
	program, message celgo.Program
	// usesOld reports whether it uses oldSelf, and optional whether that is an optional value.
	usesOld, optional bool
}

// newRuleTree compiles the rules of validations, which are s itself or one of the validations in allOf of s. It returns
// nil if they have none.
func newRuleTree(validations, s *schema.Structural, root bool) *ruleTree {
	if !hasRules(validations) {
		return nil
	}
	t := &ruleTree{schema: newCELSchema(s, root), correlated: cel.MapIsCorrelatable(s.XMapType),
		unsupported: nestedRules(validations)}
	t.compile(validations, s, root)
	if v := validations.ValueValidation; v != nil {
		for _, nested := range v.AllOf {
			if part := newRuleTree(nestedSchema(&nested), s, root); part != nil {
				t.allOf = append(t.allOf, part)
			}
		}
	}
	if validations.Items != nil && s.Items != nil {
		t.items = t.part(validations.Items, s.Items)
	}
	if own, of := validations.AdditionalProperties, s.AdditionalProperties; own != nil && of != nil &&
		own.Structural != nil && of.Structural != nil {
		t.additional = t.part(own.Structural, of.Structural)
	}
	for name, property := range validations.Properties {
		of, ok := s.Properties[name]
		if !ok {
			continue
		}
		if child := t.part(&property, &of); child != nil {
			if t.properties == nil {
				t.properties = map[string]*ruleTree{}
			}
			t.properties[name] = child
		}
	}
	return t
}

// part returns the tree of a subschema. Unsupported features there make the whole tree unsupported.
func (t *ruleTree) part(validations, s *schema.Structural) *ruleTree {
	child := newRuleTree(validations, s, s.XEmbeddedResource)
	t.unsupported = t.unsupported || child != nil && child.unsupported
	return child
}

// nestedRules reports whether a schema has rules in allOf, anyOf, oneOf or not.
func nestedRules(s *schema.Structural) bool {
	found := false
	visitor := schema.Visitor{NestedValueValidation: func(nested *schema.NestedValueValidation) bool {
		found = found || len(nested.ValidationExtensions.XValidations) > 0
		return false
	}}
	visitor.Visit(s)
	return found
}

// nestedSchema returns the validations of an allOf as a schema.
func nestedSchema(nested *schema.NestedValueValidation) *schema.Structural {
	s := &schema.Structural{ValidationExtensions: nested.ValidationExtensions,
		ValueValidation: &nested.ValueValidation}
	if nested.Items != nil {
		s.Items = nestedSchema(nested.Items)
	}
	if nested.AdditionalProperties != nil {
		s.AdditionalProperties = &schema.StructuralOrBool{Structural: nestedSchema(nested.AdditionalProperties)}
	}
	for name, property := range nested.Properties {
		if s.Properties == nil {
			s.Properties = map[string]schema.Structural{}
		}
		s.Properties[name] = *nestedSchema(&property)
	}
	return s
}

// compile compiles the rules of one node of the schema.
func (t *ruleTree) compile(validations, s *schema.Structural, root bool) {
	if len(validations.XValidations) == 0 {
		return
	}
	typ := model.SchemaDeclType(s, root)
	if typ == nil {
		t.unsupported = true
		return
	}
	of := *s
	of.XValidations = validations.XValidations
	compiled, err := cel.Compile(&of, typ, celconfig.PerCallLimit, expression.Environment(),
		cel.StoredExpressionsEnvLoader())
	t.unsupported = t.unsupported || err != nil
	for i, rule := range compiled {
		from := of.XValidations[i]
		optional := from.OptionalOldSelf != nil && *from.OptionalOldSelf
		t.unsupported = t.unsupported || rule.Error != nil || optional
		if rule.Program == nil {
			continue
		}
		text := strings.TrimSpace(from.Message)
		if text == "" {
			text = from.Rule
		}
		terms := expression.Terms(from.Rule + from.MessageExpression)
		t.rules = append(t.rules,
			treeRule{text, terms, rule.Program, rule.MessageExpression, rule.UsesOldSelf, optional})
	}
}

// evaluation is the evaluation of the rules of an object.
type evaluation struct {
	meter *expression.Meter
	// budget is the cost that is left.
	budget uint64
	// failed is set when a rule fails.
	failed bool
}

func newEvaluation(ctx context.Context) *evaluation {
	return &evaluation{meter: expression.NewMeter(ctx), budget: celconfig.RuntimeCELCostBudget}
}

// run evaluates all rules for a value that replaces old (nil for a new one). It returns the error that ended it: a
// refusal, or an exhausted budget.
func (e *evaluation) run(t *ruleTree, value, old any) *field.Error {
	if t == nil || value == nil {
		return nil
	}
	if err := e.runHere(t, value, old); err != nil {
		return err
	}
	for _, part := range t.allOf {
		if err := e.run(part, value, old); err != nil {
			return err
		}
	}
	switch value := value.(type) {
	case []any:
		was, _ := old.([]any)
		return e.runInItems(t, value, was)
	case map[string]any:
		was, _ := old.(map[string]any)
		if !t.correlated {
			was = nil
		}
		return e.runInProperties(t, value, was)
	}
	return nil
}

// runHere runs the rules of this node. It skips rules about oldSelf if old is nil.
func (e *evaluation) runHere(t *ruleTree, value, old any) *field.Error {
	if len(t.rules) == 0 {
		return nil
	}
	self := common.UnstructuredToVal(value, t.schema)
	variables := map[string]any{cel.ScopedVarName: self, expression.Variable: e.meter}
	for _, rule := range t.rules {
		if rule.usesOld {
			if old == nil && !rule.optional {
				continue
			}
			variables[cel.OldScopedVarName] = t.oldSelf(old, rule.optional)
		}
		holds, err := e.evaluate(rule.program, rule.terms, variables)
		if err == "" && !holds && rule.message != nil {
			_, err = e.evaluate(rule.message, rule.terms, variables)
		}
		if err != "" {
			return field.Invalid(nil, t.schema.Type(), fmt.Sprintf(err, rule.text))
		}
		e.failed = e.failed || !holds
	}
	return nil
}

// Kubernetes' errors about costs.
const (
	overCallLimit = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to " +
		"call cost exceeds limit for rule: %v"
	overBudget = "validation failed due to running out of cost budget, no further validation rules will be run%.0v"
)

// evaluate runs a program. It returns the format of an error, with the rule as its argument, if no further rules may
// run.
func (e *evaluation) evaluate(p celgo.Program, terms int, variables map[string]any) (holds bool, errorFormat string) {
	e.meter.Begin(terms)
	result, details, err := p.ContextEval(e.meter.Context(), variables)
	if r := e.meter.Refusal(); r != nil {
		return false, strings.ReplaceAll(r.Error(), "%", "%%") + ": no further validation rules will be run after rule: %v"
	}
	if err != nil && strings.HasPrefix(err.Error(), "operation cancelled: actual cost limit exceeded") {
		return false, overCallLimit
	}
	if details == nil || details.ActualCost() == nil {
		return false, "" // it was interrupted
	}
	cost := *details.ActualCost()
	if cost > e.budget {
		return false, overBudget
	}
	e.budget -= cost
	return err == nil && result.Value() == true, ""
}

// oldSelf returns the value of the variable oldSelf.
func (t *ruleTree) oldSelf(old any, optional bool) any {
	switch {
	case old == nil && optional:
		return types.OptionalNone
	case old == nil:
		return types.NullValue
	case optional:
		return types.OptionalOf(common.UnstructuredToVal(old, t.schema))
	}
	return common.UnstructuredToVal(old, t.schema)
}

func (e *evaluation) runInItems(t *ruleTree, items, old []any) *field.Error {
	if t.items == nil {
		return nil
	}
	was := common.MakeMapList(t.schema, old)
	for i, item := range items {
		if err := e.run(t.items, item, was.Get(item)); err != nil {
			return within((*field.Path)(nil).Index(i), err)
		}
	}
	return nil
}

func (e *evaluation) runInProperties(t *ruleTree, object, old map[string]any) *field.Error {
	for name, part := range t.properties {
		if err := e.run(part, object[name], old[name]); err != nil {
			return within(field.NewPath(name), err)
		}
	}
	if t.additional == nil {
		return nil
	}
	for name, value := range object {
		if err := e.run(t.additional, value, old[name]); err != nil {
			return within((*field.Path)(nil).Key(name), err)
		}
	}
	return nil
}

// within adds the path of a value to an error in it. Paths are made of errors only, because most objects have none.
func within(path *field.Path, err *field.Error) *field.Error {
	switch inner := err.Field; {
	case inner == (*field.Path)(nil).String():
		err.Field = path.String()
	case strings.HasPrefix(inner, "["):
		err.Field = path.String() + inner
	default:
		err.Field = path.String() + "." + inner
	}
	return err
}
