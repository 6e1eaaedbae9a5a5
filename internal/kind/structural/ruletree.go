package structural

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
)

// ruleTree holds the compiled rules of a schema, in the structure of the schema. It can only establish that
// all rules hold. If a rule fails, or the schema uses unsupported features (optionalOldSelf), the library
// runs all rules and words the errors.
type ruleTree struct {
	unsupported bool
	schema      *celSchema
	rules       []cel.CompilationResult
	usesOld     bool

	items, additional *ruleTree
	properties        map[string]*ruleTree
	// correlated reports whether the values of a map correspond to those of the old map.
	correlated bool
}

// newRuleTree compiles the rules of a schema. It returns nil if the schema has none.
func newRuleTree(s *schema.Structural, root bool) *ruleTree {
	if !hasRules(s) {
		return nil
	}
	t := &ruleTree{schema: newCELSchema(s, root), correlated: cel.MapIsCorrelatable(s.XMapType),
		unsupported: nestedRules(s)}
	t.compile(s, root)
	t.items = t.part(s.Items)
	if s.AdditionalProperties != nil {
		t.additional = t.part(s.AdditionalProperties.Structural)
	}
	for name, part := range s.Properties {
		if child := t.part(&part); child != nil {
			if t.properties == nil {
				t.properties = map[string]*ruleTree{}
			}
			t.properties[name] = child
		}
	}
	return t
}

// part returns the tree of a subschema. Unsupported features there make the whole tree unsupported.
func (t *ruleTree) part(s *schema.Structural) *ruleTree {
	if s == nil {
		return nil
	}
	child := newRuleTree(s, s.XEmbeddedResource)
	t.unsupported = t.unsupported || child != nil && child.unsupported
	return child
}

// compile compiles the rules of one node of the schema.
func (t *ruleTree) compile(s *schema.Structural, root bool) {
	typ := model.SchemaDeclType(s, root)
	if typ == nil {
		t.unsupported = true
		return
	}
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	compiled, err := cel.Compile(s, typ, celconfig.PerCallLimit, base, cel.StoredExpressionsEnvLoader())
	t.unsupported = t.unsupported || err != nil
	for i, rule := range compiled {
		optional := s.XValidations[i].OptionalOldSelf
		t.unsupported = t.unsupported || rule.Error != nil || optional != nil && *optional
		t.usesOld = t.usesOld || rule.UsesOldSelf
		if rule.Program != nil {
			t.rules = append(t.rules, rule)
		}
	}
}

// nestedRules reports whether a schema has rules in allOf.
func nestedRules(s *schema.Structural) bool {
	found := false
	visitor := schema.Visitor{NestedValueValidation: func(nested *schema.NestedValueValidation) bool {
		found = found || len(nested.ValidationExtensions.XValidations) > 0
		return false
	}}
	visitor.Visit(s)
	return found
}

// hold reports whether all rules hold for a value that replaces old (nil for a new one), and subtracts their
// cost from budget. A false result is inconclusive.
func (t *ruleTree) hold(ctx context.Context, value, old any, budget *uint64) bool {
	if t == nil || value == nil {
		return true
	}
	if t.unsupported || !t.holdHere(ctx, value, old, budget) {
		return false
	}
	switch value := value.(type) {
	case []any:
		was, _ := old.([]any)
		return t.holdInItems(ctx, value, was, budget)
	case map[string]any:
		was, _ := old.(map[string]any)
		if !t.correlated {
			was = nil
		}
		return t.holdInProperties(ctx, value, was, budget)
	}
	return true
}

// holdHere runs the rules of this node. It skips rules about oldSelf if old is nil.
func (t *ruleTree) holdHere(ctx context.Context, value, old any, budget *uint64) bool {
	if len(t.rules) == 0 {
		return true
	}
	variables := map[string]any{cel.ScopedVarName: common.UnstructuredToVal(value, t.schema)}
	if t.usesOld && old != nil {
		variables[cel.OldScopedVarName] = common.UnstructuredToVal(old, t.schema)
	}
	for _, rule := range t.rules {
		if rule.UsesOldSelf && old == nil {
			continue
		}
		result, details, err := rule.Program.ContextEval(ctx, variables)
		if err != nil || details == nil || result.Value() != true {
			return false
		}
		cost := details.ActualCost()
		if cost == nil || *cost > *budget {
			return false
		}
		*budget -= *cost
	}
	return true
}

func (t *ruleTree) holdInItems(ctx context.Context, items, old []any, budget *uint64) bool {
	if t.items == nil {
		return true
	}
	was := common.MakeMapList(t.schema, old)
	for _, item := range items {
		if !t.items.hold(ctx, item, was.Get(item), budget) {
			return false
		}
	}
	return true
}

func (t *ruleTree) holdInProperties(ctx context.Context, object, old map[string]any, budget *uint64) bool {
	for name, part := range t.properties {
		if !part.hold(ctx, object[name], old[name], budget) {
			return false
		}
	}
	if t.additional == nil {
		return true
	}
	for name, value := range object {
		if !t.additional.hold(ctx, value, old[name], budget) {
			return false
		}
	}
	return true
}
