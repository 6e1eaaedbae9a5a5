//go:build !race

package bowlinetest

// maxRaceBudget is the maximal Budget of a Scenario without the race detector; 0 is no limit.
const maxRaceBudget = 0
