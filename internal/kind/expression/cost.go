package expression

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// The overloads of functions that search texts for patterns.
const (
	findText     = "string_find_string"
	findAllText  = "string_find_all_string"
	findSomeText = "string_find_all_string_int"
)

// A unit of Kubernetes' cost is about 100 ns: an object may cost ten million, "roughly a second".
const (
	patternSteps = 6 // steps of a regular expression for each unit, at 10 to 15 ns
	comparisons  = 4 // comparisons of characters or items for each unit, at 5 to 20 ns
	maxSize      = 1 << 20
)

// trackers add the costs of calls after them. They cost at least what Kubernetes charges.
func trackers() (options []interpreter.CostTrackerOption) {
	track := func(cost func(args []value) uint64, function string, overloads ...string) {
		for _, overload := range overloads {
			tracker := func(args []value, result value) *uint64 {
				total := cost(args)
				if known := kubernetes.CallCost(function, overload, args, result); known != nil {
					total = max(total, *known)
				}
				return &total
			}
			options = append(options, interpreter.OverloadCostTracker(overload, tracker))
		}
	}
	track(calledPatternCost, overloads.Matches, overloads.Matches, overloads.MatchesString)
	track(calledPatternCost, "find", findText)
	track(func(args []value) uint64 { return max(calledPatternCost(args), foundCost(args)) }, "findAll", findAllText, findSomeText)
	track(searchCost, "indexOf", "string_index_of_string", "string_index_of_string_int")
	track(searchCost, "lastIndexOf", "string_last_index_of_string", "string_last_index_of_string_int")
	track(comparisonCost, "", overloads.Equals, overloads.NotEquals)
	track(membershipCost, "", overloads.InList)
	track(visitCost, "format", overloads.ExtFormatString)
	track(setsCost, "sets.contains", "list_sets_contains_list")
	track(setsCost, "sets.equivalent", "list_sets_equivalent_list")
	track(setsCost, "sets.intersects", "list_sets_intersects_list")
	return options
}

var kubernetes = &library.CostEstimator{}

// patternCost is the cost of matching a text with a regular expression: each byte may take a step for each instruction.
func patternCost(instructions, length int) uint64 {
	return uint64(instructions) * uint64(length+1) / patternSteps
}

func calledPatternCost(args []value) uint64 {
	text, ok := args[0].(types.String)
	pattern, isText := args[1].(types.String)
	if !ok || !isText {
		return 1
	}
	charged := traversal(len(text)+1) * uint64(math.Ceil(float64(len(pattern))*common.RegexStringLengthCostFactor))
	return max(charged, patternCost(instructions(string(pattern)), len(text)))
}

// foundCost is the cost of the matches of a pattern, each of which takes memory: there may be one at each byte.
func foundCost(args []value) uint64 {
	const match = 3
	text, _ := args[0].(types.String)
	n := len(text)
	if len(args) > 2 {
		if most, ok := args[2].(types.Int); ok && most >= 0 {
			n = min(n, int(most))
		}
	}
	return uint64(n) * match
}

// traversal is what Kubernetes charges for reading a text.
func traversal(length int) uint64 {
	return uint64(math.Ceil(float64(length) * common.StringTraversalCostFactor))
}

// searchCost is the cost of searching a text or a list: a text is compared with the one that it is searched for at each
// position.
func searchCost(args []value) uint64 {
	text, ok := args[0].(types.String)
	if !ok {
		return visitCost(args)
	}
	wanted, _ := args[1].(types.String)
	return max(1, traversal(len(text)), uint64(len(text))*uint64(len(wanted))/comparisons)
}

// comparisonCost is the cost of comparing two values.
func comparisonCost(args []value) uint64 {
	a, isText := args[0].(types.String)
	b, areTexts := args[1].(types.String)
	if isText && areTexts {
		return traversal(min(len(a), len(b)))
	}
	return visitCost(args)
}

// membershipCost is the cost of comparing a value with the items of a list.
func membershipCost(args []value) uint64 {
	cost := visitCost(args)
	if list, ok := args[1].(traits.Sizer); ok {
		n, _ := list.Size().(types.Int)
		cost = max(cost, uint64(n))
	}
	return cost
}

// visitCost is the cost of visiting all parts of the arguments, which takes 50 to 100 ns each.
func visitCost(args []value) uint64 {
	visited := 0
	for _, arg := range args {
		visited += size(arg, maxSize-visited)
	}
	return max(1, uint64(visited)/2)
}

// setsCost is the cost of comparing each item of one list with each of another.
func setsCost(args []value) uint64 {
	if len(args) != 2 {
		return 1
	}
	return max(1, uint64(size(args[0], maxSize))*uint64(size(args[1], maxSize))/comparisons)
}

// size returns the number of values in a value, at all levels, and one for every 40 bytes of a text. It stops at a
// limit.
func size(v value, limit int) int {
	const stretch = 40
	switch v := v.(type) {
	case types.String:
		return 1 + len(v)/stretch
	case traits.Mapper:
		n := 1
		for it := v.Iterator(); n < limit && it.HasNext() == types.True; {
			n += 1 + size(v.Get(it.Next()), limit-n)
		}
		return n
	case traits.Lister:
		n := 1
		for it := v.Iterator(); n < limit && it.HasNext() == types.True; {
			n += size(it.Next(), limit-n)
		}
		return n
	}
	return 1
}
