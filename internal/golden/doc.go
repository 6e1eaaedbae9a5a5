// Package golden holds Bowline against what a real kube-apiserver answered: its test sends the recorded requests in
// internal/golden/testdata to a server and compares each answer with the recorded one. internal/golden/testdata/README.md says how they
// were recorded.
//
// What differs from run to run is left out of the comparison (see normalize_test.go); every other difference fails the
// test, unless its step stands in differences.txt with a reason. A step that stands there and does not differ fails it
// as well, so the list can only name what is true. The package has no other code, and nothing imports it; package
// recorded below it reads the recordings for other packages' tests too.
//
//	go test ./golden                                  # prints, with -v, how many answers are equal
//	go test ./golden -args -report differences.log    # writes every difference, those of listed steps too
package golden
