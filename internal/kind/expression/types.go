package expression

import (
	"strings"

	"github.com/google/cel-go/common/ast"
)

const (
	// plainType is the number of parts of an ordinary type, such as a list of maps.
	plainType = 8
	// typePart is the cost of checking one part of a type.
	typePart = MaxCompileCost / 4_000
	// maxDoublings makes an expression exceed MaxCompileCost without an overflow.
	maxDoublings = 20
)

// typeCost returns the cost of checking the types of an expression at their largest possible size: {x: x} doubles the
// type of x, and a loop can repeat this. Checking the 300 bytes of [{1: 1}].map(a, {a: a}).map(b, {b: b}) and so on
// takes minutes.
func typeCost(text string) int {
	n := ComputedKeys(text)
	if n == 0 {
		return 0
	}
	return typePart * plainType << min(n, maxDoublings)
}

// ComputedKeys returns the number of maps in an expression whose keys are not constants, and may be maps. Each may
// double the size of a type. Macros are expanded. For an expression that is too long to compile, the result is 0.
func ComputedKeys(text string) (n int) {
	if !strings.Contains(text, "{") || len(text)*len(text) > MaxCompileCost {
		return 0
	}
	parsed, issues := Environment().StoredExpressionsEnv().Parse(text)
	if issues.Err() != nil {
		return 0 // it does not compile either
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.MapKind {
			return
		}
		for _, entry := range e.AsMap().Entries() {
			if entry.AsMapEntry().Key().Kind() != ast.LiteralKind {
				n++
				return
			}
		}
	}))
	return n
}
