package expression

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Refusal is the error of a call that was not made because of its arguments, or of a loop that was ended.
type Refusal struct{ reason string }

// Error implements error.
func (r *Refusal) Error() string { return r.reason }

// refusals are the checks of functions that may cost more in one call than an expression may.
var refusals = map[string]func(args []value) *Refusal{
	"quantity":        refuseQuantity,
	"isQuantity":      refuseQuantity,
	overloads.Matches: refusePattern,
	"find":            refusePattern,
	"findAll":         refuseMatches,
	"indexOf":         refuseCost(searchCost),
	"lastIndexOf":     refuseCost(searchCost),
	"sets.contains":   refuseCost(setsCost),
	"sets.equivalent": refuseCost(setsCost),
	"sets.intersects": refuseCost(setsCost),
	"distinct":        refuseCost(distinctCost),
	operators.In:      refuseCost(membershipCost),
	operators.Add:     refuseCost(copyCost),
	"replace":         refuseText(replacedBytes),
	"join":            refuseText(joinedBytes),
	"format":          refuseText(formattedBytes),
}

// limitedBinding calls a function unless its arguments are refused.
func limitedBinding(refuse func(args []value) *Refusal, call functions.FunctionOp) functions.FunctionOp {
	return func(args ...value) value {
		if r := refuse(args); r != nil {
			return types.WrapErr(r)
		}
		return call(args...)
	}
}

// refuseQuantity refuses a quantity with too many digits or too large an exponent. Parsing expands the number.
func refuseQuantity(args []value) *Refusal {
	text, ok := args[0].(types.String)
	if !ok || !isHugeQuantity(string(text)) {
		return nil
	}
	return &Refusal{fmt.Sprintf("the quantity %q has too many digits or too large an exponent", shortened(string(text)))}
}

// isHugeQuantity reports whether a text is a quantity with too many digits or too large an exponent.
func isHugeQuantity(text string) bool {
	return strings.Trim(text, "+-.0123456789eEinumkKMGTP") == "" &&
		string(kind.MaskHugeQuantities(object.JSON, []byte(text))) != text
}

// refusePattern refuses a regular expression whose match would cost too much.
func refusePattern(args []value) *Refusal {
	text, ok := args[0].(types.String)
	pattern, isText := args[1].(types.String)
	if !ok || !isText {
		return nil // the function reports it
	}
	return tooCostly(patternCost(instructions(string(pattern)), len(text)))
}

// refuseMatches also refuses a search that may find too much.
func refuseMatches(args []value) *Refusal {
	if r := refusePattern(args); r != nil {
		return r
	}
	return tooCostly(foundCost(args))
}

// maxText is the length of a text that an expression may make, in bytes.
const maxText = 16 << 20

// refuseText refuses calls that make a text of more than maxText bytes.
func refuseText(length func(args []value) int) func(args []value) *Refusal {
	return func(args []value) *Refusal {
		if n := length(args); n > maxText {
			return &Refusal{fmt.Sprintf("a call would make a text of %d bytes or more: at most %d are allowed", n, maxText)}
		}
		return nil
	}
}

// refuseCost refuses calls by their cost.
func refuseCost(cost func(args []value) uint64) func(args []value) *Refusal {
	return func(args []value) *Refusal { return tooCostly(cost(args)) }
}

// tooCostly refuses a call that costs more than an expression may.
func tooCostly(cost uint64) *Refusal {
	if cost <= celconfig.PerCallLimit {
		return nil
	}
	return &Refusal{fmt.Sprintf("a single call would cost %d, and an expression may cost at most %d", cost,
		celconfig.PerCallLimit)}
}

// shortened returns the start of a text for an error.
func shortened(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}
