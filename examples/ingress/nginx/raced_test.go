//go:build race

package nginx

// The race detector sees in a few runs what it sees in hundreds, and takes long over each.
func init() { faultBudget = 6 }
