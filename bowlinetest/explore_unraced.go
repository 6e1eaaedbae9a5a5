//go:build !race

package bowlinetest

// mostRaced is what a Scenario's Budget is at most with the race detector; 0 is no bound.
const mostRaced = 0
