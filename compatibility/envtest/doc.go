// Package envtest runs the test suite of an operator that does not depend on Bowline, ../operator: with
// bowline in place of kube-apiserver and etcd, and with a plane in place of a cluster.
package envtest
