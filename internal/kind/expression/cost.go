package expression

import (
	"math"
	"slices"
	"strings"

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
	patternSteps = 6       // steps of a regular expression for each unit, at 10 to 15 ns
	comparisons  = 4       // comparisons of characters or items for each unit, at 5 to 20 ns
	maxSize      = 300_000 // at which the values of an argument are no longer counted
)

// trackers returns the options with which cel-go charges a call, after it: our cost, or Kubernetes' if that is higher.
func trackers() (options []interpreter.CostTrackerOption) {
	track := func(cost func(args []value) uint64, function string, ids ...string) {
		for _, overload := range ids {
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
	track(copyCost, "", overloads.AddList)
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

// foundCost is the cost of all matches of a pattern, of which there may be one at each byte. Each takes memory; and if
// the pattern repeats something without a limit, each may read the text to its end.
func foundCost(args []value) uint64 {
	const match = 3
	text, _ := args[0].(types.String)
	pattern, _ := args[1].(types.String)
	n := len(text)
	if len(args) > 2 {
		if most, ok := args[2].(types.Int); ok && most >= 0 {
			n = min(n, int(most))
		}
	}
	cost := uint64(n) * match
	if strings.ContainsAny(string(pattern), "*+{") {
		cost += patternCost(instructions(string(pattern)), len(text)) * uint64(n+1)
	}
	return cost
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

// membershipCost is the cost of comparing a value with the items of a list, or of looking up a key.
func membershipCost(args []value) uint64 {
	list, ok := args[1].(traits.Lister)
	if !ok {
		return 1
	}
	n, _ := list.Size().(types.Int)
	if n > 0 && isContainer(list.Get(types.IntZero)) {
		return visitCost(args)
	}
	return uint64(n)
}

// isContainer reports whether a value has values in it.
func isContainer(v value) bool {
	switch v := v.(type) {
	case traits.Lister, traits.Mapper:
		return true
	case *types.Optional:
		return v.HasValue() && isContainer(v.GetValue())
	}
	return false
}

// visitCost is the cost of visiting all parts of the arguments, which takes 50 to 100 ns each, for a call, before it,
// and after it. It is 1 for numbers.
func visitCost(args []value) uint64 {
	const visit = 5
	if !slices.ContainsFunc(args, isContainer) {
		return max(1, uint64(size(args[0], maxSize))/2)
	}
	visited := 0
	for _, arg := range args {
		visited += size(arg, maxSize-visited)
	}
	return uint64(visited) * visit
}

// setsCost is the cost of comparing each item of one list with each of another.
func setsCost(args []value) uint64 {
	if len(args) != 2 {
		return 1
	}
	return max(1, uint64(size(args[0], maxSize))*uint64(size(args[1], maxSize))/comparisons)
}

// distinctCost is the cost of comparing each item of a list with each other one.
func distinctCost(args []value) uint64 {
	n := uint64(size(args[0], maxSize))
	return max(1, n*n/comparisons)
}

// copyCost is the cost of adding lists, which takes up to 10 µs for each of their items. Additions to the result of a
// map copy only what they add.
func copyCost(args []value) uint64 {
	const item = 50
	cost := uint64(1)
	for _, arg := range args {
		if _, grows := arg.(traits.MutableLister); grows {
			continue
		}
		if list, ok := arg.(traits.Lister); ok {
			n, _ := list.Size().(types.Int)
			cost += uint64(n) * item
		}
	}
	return cost
}

// replacedBytes is the length of the result of text.replace(old, new[, n]).
func replacedBytes(args []value) int {
	if len(args) < 3 {
		return 0
	}
	text, _ := args[0].(types.String)
	old, _ := args[1].(types.String)
	new, _ := args[2].(types.String)
	n := strings.Count(string(text), string(old))
	if len(args) > 3 {
		if most, ok := args[3].(types.Int); ok && most >= 0 {
			n = min(n, int(most))
		}
	}
	return len(text) + n*len(new)
}

// joinedBytes is the length of the result of list.join([separator]).
func joinedBytes(args []value) int {
	n := textBytes(args[0], 2*maxText)
	if len(args) > 1 {
		separator, _ := args[1].(types.String)
		if list, ok := args[0].(traits.Sizer); ok {
			items, _ := list.Size().(types.Int)
			n += int(items) * len(separator)
		}
	}
	return n
}

// formattedBytes is at least the length of the texts in the result of format.format(list).
func formattedBytes(args []value) int {
	n := 0
	for _, arg := range args {
		n += textBytes(arg, 2*maxText-n)
	}
	return n
}

// textBytes returns the length of all texts in a value, and a few bytes for each other value. It stops at a limit.
func textBytes(v value, limit int) int {
	const other = 8
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case traits.Mapper:
		n := 0
		for it := v.Iterator(); n < limit && it.HasNext() == types.True; {
			key := it.Next()
			n += textBytes(key, limit-n) + textBytes(v.Get(key), limit-n)
		}
		return n
	case traits.Lister:
		n := 0
		for it := v.Iterator(); n < limit && it.HasNext() == types.True; {
			n += textBytes(it.Next(), limit-n)
		}
		return n
	}
	return other
}

// size returns the number of values in a value, at all levels, and one for every 40 bytes of a text. It stops at a
// limit.
func size(v value, limit int) int {
	const stretch = 40
	switch v := v.(type) {
	case types.String:
		return 1 + len(v)/stretch
	case types.Bytes:
		return 1 + len(v)/stretch
	case *types.Optional:
		if v.HasValue() {
			return 1 + size(v.GetValue(), limit)
		}
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
