package expression

import (
	"regexp"
	"strconv"
)

// MaxCompileCost is the highest [CompileCost] of the expressions of one object: half a second. One expression of 10,000
// bytes reaches it.
const MaxCompileCost = 100_000_000

// CompileCost returns what expressions cost to compile. It grows with the square of the length of each: for each call
// of a generic operator such as the addition of lists, cel-go copies what it knows about the types of the calls before.
// An expression with 5,000 of them takes half a minute. It also grows with the sizes of their types.
func CompileCost(expressions ...string) (cost int) {
	for _, e := range expressions {
		cost += len(e)*len(e) + typeCost(e)
	}
	return cost
}

// repetition matches one in a regular expression, such as {3,5}.
var repetition = regexp.MustCompile(`\{(\d{1,4}),?(\d{0,4})`)

// Repetitions returns the sum of all repetitions in an expression. Its constant regular expressions are compiled with
// it.
func Repetitions(expression string) (sum int) {
	for _, found := range repetition.FindAllStringSubmatch(expression, -1) {
		least, _ := strconv.Atoi(found[1])
		most, _ := strconv.Atoi(found[2]) // 0 if there is none
		sum += max(least, most)
	}
	return sum
}
