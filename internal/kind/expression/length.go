package expression

// MaxCompileCost is the highest [CompileCost] of the expressions of one object: half a second. One expression of 10,000
// bytes reaches it.
const MaxCompileCost = 100_000_000

// CompileCost returns what expressions cost to compile. It grows with the square of the length of each: for each call
// of a generic operator such as the addition of lists, cel-go copies what it knows about the types of the calls before.
// An expression with 5,000 of them takes half a minute.
func CompileCost(expressions ...string) (cost int) {
	for _, e := range expressions {
		cost += len(e) * len(e)
	}
	return cost
}
