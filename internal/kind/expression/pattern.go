package expression

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"k8s.io/utils/lru"
)

// maxPattern is the length of a regular expression that is parsed, in bytes. Parsing a megabyte takes a second.
const maxPattern = 16 << 10

// Instructions returns the approximate number of instructions of a compiled regular expression, and 0 for an invalid
// one. It does not compile it: a repetition such as {500} multiplies the instructions. A pattern of more than
// 16 KiB counts 1,000 for each byte.
func Instructions(pattern string) int {
	if len(pattern) > maxPattern {
		const mostRepetitions = 1_000 // of a repetition in a regular expression
		return len(pattern) * mostRepetitions
	}
	const classRanges = 600 // of a class of Unicode such as \pL
	classes := strings.Count(pattern, `\p`) + strings.Count(pattern, `\P`)
	if classes > 100 {
		return len(pattern) * classRanges // parsing it sorts all ranges
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return count(parsed)
}

func count(re *syntax.Regexp) int {
	if re.Op == syntax.OpLiteral {
		return len(re.Rune)
	}
	n := 1 + len(re.Rune)/64 // the ranges of a class are searched by halves
	for _, sub := range re.Sub {
		n += count(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// known are the instructions of the last patterns: an expression uses the same ones again and again.
var known = lru.New(1024)

// maxKnown is the length of patterns that are kept, in bytes.
const maxKnown = 1024

func instructions(pattern string) int {
	if n, ok := known.Get(pattern); ok {
		return n.(int)
	}
	n := Instructions(pattern)
	if len(pattern) <= maxKnown {
		known.Add(pattern, n)
	}
	return n
}

// constantPattern returns an optimization of one overload of a function: a constant regular expression is compiled
// once. It replaces cel-go's own optimization, which has no limit.
func constantPattern(function, overload string,
	match func(*regexp.Regexp) functions.FunctionOp) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function:   function,
		OverloadID: overload,
		RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			compiled, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			n := Instructions(pattern)
			refuse := func(args []value) *Refusal {
				text, _ := args[0].(types.String)
				cost := patternCost(n, len(text))
				if function == "findAll" {
					cost = max(cost, foundCost(args))
				}
				return tooCostly(cost)
			}
			return &meteredCall{interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
				limitedBinding(refuse, match(compiled))), 0}, nil
		},
	}
}

// matches, find and findAll are the functions for a compiled regular expression.
func matches(re *regexp.Regexp) functions.FunctionOp {
	return func(args ...value) value {
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		return types.Bool(re.MatchString(string(text)))
	}
}

func find(re *regexp.Regexp) functions.FunctionOp {
	return func(args ...value) value {
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		return types.String(re.FindString(string(text)))
	}
}

func findAll(re *regexp.Regexp) functions.FunctionOp {
	return func(args ...value) value {
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		most := types.Int(-1)
		if len(args) > 2 {
			if most, ok = args[2].(types.Int); !ok {
				return types.MaybeNoSuchOverloadErr(args[2])
			}
		}
		return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(string(text), int(most)))
	}
}
