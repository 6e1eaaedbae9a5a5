// Package suite has the conformance specs of Kubernetes' e2e suite, as a test that the command conformance compiles
// and runs on a server. It is not for go test, which has no server.
package suite
