// Package v1 declares the Network kind of the example: what a user writes (NetworkSpec) and what the controller answers
// (NetworkStatus). It is for programs that read or write Networks with Go structs: the example's controller and tests.
// It knows no server and no provider.
//
// The same types are served under two API groups, samplecrd.k8s.io and sample.k8s.io, because the two texts that the
// example follows name them differently.
//
// +groupName=samplecrd.k8s.io
package v1
