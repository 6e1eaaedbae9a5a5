//go:build race

package manager_test

// The race detector sees in a few runs what it sees in hundreds, and takes long over each.
func init() { faultBudget = 6 }
