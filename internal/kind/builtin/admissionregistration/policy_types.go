package admissionregistration

import (
	"github.com/google/cel-go/cel"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// typeBudget limits the sizes of the types in the expressions of a policy. {x: x} doubles the type of x, and a variable
// or a loop can repeat this: [{1: 1}].map(a, {a: a}).map(b, {b: b}) and so on. Checking the types of 300 bytes takes
// minutes.
type typeBudget struct {
	spent int
	// largest is the size of the largest type of a variable, and deepest the number of levels of the deepest one.
	largest, deepest int
}

const (
	maxTypes = 4_000
	// maxDepth is the number of levels that the type of a variable may have, such as a list of lists. The time for
	// formatting a type grows faster than its depth.
	maxDepth = 32
	// maxDoublings makes an expression exceed the budget without an overflow.
	maxDoublings = 20
)

// largeTypes is the error of an expression that exceeds the budget.
const largeTypes = "its types may be too large to check: a map whose keys are not constants, such as {x: x}, may " +
	"double the size of a type, and each variable that contains another one adds to it"

// allows charges an expression, and reports whether it may be compiled.
func (b *typeBudget) allows(text string) bool {
	if b.deepest > maxDepth {
		return false
	}
	doublings := expression.ComputedKeys(text)
	if doublings == 0 {
		return true
	}
	b.spent += max(b.largest, 1) << min(doublings, maxDoublings)
	return b.spent <= maxTypes
}

// add records the type of a variable, which later expressions may use.
func (b *typeBudget) add(t *cel.Type) {
	b.largest, b.deepest = max(b.largest, typeSize(t, maxTypes)), max(b.deepest, typeDepth(t, maxDepth+1))
}

// typeDepth returns the number of levels of a type. It stops at limit.
func typeDepth(t *cel.Type, limit int) int {
	deepest := 0
	if t != nil && limit > 1 {
		for _, p := range t.Parameters() {
			deepest = max(deepest, typeDepth(p, limit-1))
		}
	}
	return 1 + deepest
}

// typeSize returns the number of types that a type consists of. It stops at limit.
func typeSize(t *cel.Type, limit int) int {
	if t == nil {
		return 1
	}
	n := 1
	for _, p := range t.Parameters() {
		if n >= limit {
			break
		}
		n += typeSize(p, limit-n)
	}
	return n
}
