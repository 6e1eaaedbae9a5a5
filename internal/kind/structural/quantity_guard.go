package structural

import (
	"context"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// quantityGuard evaluates the rules of a schema to find out whether one of them parses a huge quantity, such as
// quantity('1e' + self.exponent). Parsing expands the number, which takes hours, is not covered by the cost limit of
// rules, and cannot be interrupted. The library that reports failed rules always parses, so the guard runs before it,
// with a quantity function that rejects huge quantities.
type quantityGuard struct {
	schema *celSchema
	rules  []guardedRule
	// allOf are the guards of the validations in allOf, for the same value.
	allOf             []*quantityGuard
	items, additional *quantityGuard
	properties        map[string]*quantityGuard
	correlated        bool
}

// guardedRule is a rule or its message expression. optional reports whether oldSelf is an optional value.
type guardedRule struct {
	program           celgo.Program
	usesOld, optional bool
}

// newQuantityGuard compiles the rules of validations, which are s or an allOf of s. It returns nil if they have none.
func newQuantityGuard(validations, s *schema.Structural, root bool) *quantityGuard {
	if !hasRules(validations) {
		return nil
	}
	g := &quantityGuard{schema: newCELSchema(s, root), correlated: cel.MapIsCorrelatable(s.XMapType)}
	g.compile(validations, s, root)
	if v := validations.ValueValidation; v != nil {
		for _, nested := range v.AllOf {
			if part := newQuantityGuard(nestedSchema(&nested), s, root); part != nil {
				g.allOf = append(g.allOf, part)
			}
		}
	}
	if validations.Items != nil && s.Items != nil {
		g.items = newQuantityGuard(validations.Items, s.Items, s.Items.XEmbeddedResource)
	}
	if own, of := validations.AdditionalProperties, s.AdditionalProperties; own != nil && own.Structural != nil &&
		of != nil && of.Structural != nil {
		g.additional = newQuantityGuard(own.Structural, of.Structural, of.Structural.XEmbeddedResource)
	}
	g.properties = map[string]*quantityGuard{}
	for name, property := range validations.Properties {
		of, ok := s.Properties[name]
		if !ok {
			continue
		}
		if part := newQuantityGuard(&property, &of, of.XEmbeddedResource); part != nil {
			g.properties[name] = part
		}
	}
	return g
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

// compile compiles the rules of one node. What does not compile is not evaluated by the library either.
func (g *quantityGuard) compile(validations, s *schema.Structural, root bool) {
	typ := model.SchemaDeclType(s, root)
	base, err := guardedEnvironment()
	if typ == nil || err != nil || len(validations.XValidations) == 0 {
		return
	}
	of := *s
	of.XValidations = validations.XValidations
	compiled, err := cel.Compile(&of, typ, celconfig.PerCallLimit, base, cel.StoredExpressionsEnvLoader())
	if err != nil {
		return
	}
	for i, rule := range compiled {
		optional := of.XValidations[i].OptionalOldSelf
		for _, program := range []celgo.Program{rule.Program, rule.MessageExpression} {
			if program != nil {
				g.rules = append(g.rules, guardedRule{program, rule.UsesOldSelf, optional != nil && *optional})
			}
		}
	}
}

// guardedEnvironment returns Kubernetes' environment with guarded quantity functions.
var guardedEnvironment = sync.OnceValues(func() (*environment.EnvSet, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	return base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		ProgramOptions:    []celgo.ProgramOption{celgo.CustomDecorator(guardQuantities)},
	})
})

// guardQuantities decorates the calls of the functions that parse quantities.
func guardQuantities(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || call.Function() != "quantity" && call.Function() != "isQuantity" {
		return i, nil
	}
	return &guardedCall{call}, nil
}

// guardedCall is a call with a quantity as its argument.
type guardedCall struct{ interpreter.InterpretableCall }

// foundVariable is the variable in which a guardedCall stores a huge quantity. Expressions cannot contain its name.
const foundVariable = "@hugeQuantity"

// Exec implements interpreter.InterpretableV2.
func (c *guardedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if rejected := reject(c.Args()[0].Exec(frame), frame); rejected != nil {
		return rejected
	}
	return c.InterpretableCall.Exec(frame)
}

// Eval implements interpreter.Interpretable.
func (c *guardedCall) Eval(variables interpreter.Activation) ref.Val {
	if rejected := reject(c.Args()[0].Eval(variables), variables); rejected != nil {
		return rejected
	}
	return c.InterpretableCall.Eval(variables)
}

// reject returns an error and stores the argument if it is a huge quantity, and otherwise nil.
func reject(argument ref.Val, variables interpreter.Activation) ref.Val {
	text, ok := argument.(types.String)
	if !ok || !isHugeQuantity(string(text)) {
		return nil
	}
	if v, ok := variables.ResolveName(foundVariable); ok {
		*v.(*string) = string(text)
	}
	return types.NewErr("the quantity is huge")
}

// isHugeQuantity reports whether a text is a quantity with too many digits or too large an exponent.
func isHugeQuantity(text string) bool {
	return strings.Trim(text, "+-.0123456789eEinumkKMGTP") == "" &&
		string(kind.MaskHugeQuantities(object.JSON, []byte(text))) != text
}

// find evaluates all rules for a value that replaces old (nil for a new one), and returns an error for the first huge
// quantity. It subtracts the cost from budget, and also returns an error if that is exhausted.
func (g *quantityGuard) find(ctx context.Context, path *field.Path, value, old any, budget *uint64) *field.Error {
	if g == nil || value == nil {
		return nil
	}
	if err := g.findHere(ctx, path, value, old, budget); err != nil {
		return err
	}
	for _, part := range g.allOf {
		if err := part.find(ctx, path, value, old, budget); err != nil {
			return err
		}
	}
	switch value := value.(type) {
	case []any:
		before, _ := old.([]any)
		was := common.MakeMapList(g.schema, before)
		for i, item := range value {
			if err := g.items.find(ctx, path.Index(i), item, was.Get(item), budget); err != nil {
				return err
			}
		}
	case map[string]any:
		was, _ := old.(map[string]any)
		if !g.correlated {
			was = nil
		}
		for name, field := range value {
			part, ok := g.properties[name]
			if !ok {
				part = g.additional
			}
			if err := part.find(ctx, path.Child(name), field, was[name], budget); err != nil {
				return err
			}
		}
	}
	return nil
}

// findHere evaluates the rules of one node. The library may skip some of them, but evaluates no others.
func (g *quantityGuard) findHere(ctx context.Context, path *field.Path, value, old any, budget *uint64) *field.Error {
	var huge string
	variables := map[string]any{foundVariable: &huge}
	for _, rule := range g.rules {
		if rule.usesOld && old == nil && !rule.optional {
			continue
		}
		variables[cel.ScopedVarName] = common.UnstructuredToVal(value, g.schema)
		variables[cel.OldScopedVarName] = g.oldSelf(old, rule.optional)
		_, details, _ := rule.program.ContextEval(ctx, variables) // the library reports errors of the rule itself
		if huge != "" {
			return field.Invalid(path, shortened(huge),
				"has too many digits or too large an exponent: a rule of the schema reads it as a quantity")
		}
		if details == nil || details.ActualCost() == nil || *details.ActualCost() > *budget || ctx.Err() != nil {
			return field.Invalid(path, field.OmitValueType{}, "its rules cost too much, or were interrupted")
		}
		*budget -= *details.ActualCost()
	}
	return nil
}

// oldSelf returns the value of the variable oldSelf.
func (g *quantityGuard) oldSelf(old any, optional bool) any {
	switch {
	case old == nil && optional:
		return types.OptionalNone
	case old == nil:
		return types.NullValue
	case optional:
		return types.OptionalOf(common.UnstructuredToVal(old, g.schema))
	}
	return common.UnstructuredToVal(old, g.schema)
}

// shortened returns the start of a quantity for an error.
func shortened(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}
