package kind

import (
	"fmt"
	"strings"
)

// Limits on the JSONPath of a column. The number of its results grows exponentially with the number of unions, and its
// time with a power of the object's size for each recursive descent.
const (
	maxDescents = 1
	maxUnions   = 4
)

// CheckPathCost returns an error for a JSONPath whose evaluation could take seconds for a large object.
func CheckPathCost(expression string) error {
	if n := strings.Count(expression, ".."); n > maxDescents {
		return fmt.Errorf("must have at most %d recursive descent (..), but has %d", maxDescents, n)
	}
	if n := strings.Count(expression, ","); n > maxUnions {
		return fmt.Errorf("must have at most %d commas, but has %d", maxUnions, n)
	}
	return nil
}
