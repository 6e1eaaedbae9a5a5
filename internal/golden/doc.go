// Package golden contains the recorded responses of a real kube-apiserver, in testdata, and reads them for tests of
// packages that produce a part of a response. testdata/README.md describes how they were recorded. Only tests import
// it.
//
// Its own test compares Bowline with the real server: it sends the recorded requests to a server and compares each
// response with the recorded one. Values that differ between runs are excluded from the comparison (see
// normalize_test.go). Every other difference fails the test, unless differences.txt lists the step with a reason. A
// listed step without a difference fails too, so the list stays accurate.
//
//	go test ./internal/golden                                # with -v, prints how many responses are equal
//	go test ./internal/golden -args -report differences.log  # writes all differences, those of listed steps too
//	go test ./internal/golden -args -record KUBECONFIG FILE  # records the answers of another server
package golden
