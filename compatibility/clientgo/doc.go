// Package clientgo contains only tests. They show that all parts of unmodified client-go work against this
// server over TLS as against Kubernetes.
package clientgo
