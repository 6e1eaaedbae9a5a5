// Package v1 declares the Network kind of the example: what a user declares (NetworkSpec) and what the
// controller reports (NetworkStatus). Programs that read or write Networks as Go structs import it, such as
// the example's controller and tests. It depends on neither a server nor a provider.
//
// The same types are served under two API groups, samplecrd.k8s.io and sample.k8s.io, because the two
// tutorials that the example follows use different groups.
// +groupName=samplecrd.k8s.io
package v1
