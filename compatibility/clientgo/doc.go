// Package clientgo holds no code: its tests show that unmodified client-go, in each of its parts, works against this
// server over TLS as against Kubernetes.
package clientgo
