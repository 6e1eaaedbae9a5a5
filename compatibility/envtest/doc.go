// Package envtest runs a suite of an operator that knows nothing of Bowline, ../operator: with bowline in the place of
// kube-apiserver and etcd, and with a plane in the place of a cluster.
package envtest
