//go:build race

package bowlinetest

// mostRaced is the maximal Budget of a Scenario with the race detector; 0 is no limit.
const mostRaced = 6
