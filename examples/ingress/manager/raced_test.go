//go:build race

package manager_test

// The race detector slows each run down, and a few runs suffice for it.
func init() { faultBudget = 6 }
