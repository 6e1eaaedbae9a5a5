//go:build race

package bowlinetest

// maxRaceBudget limits Scenario.Budget in tests with the race detector; 0 means no limit.
const maxRaceBudget = 6
