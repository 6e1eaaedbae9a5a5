// Package controllerruntime holds no code: its tests show that unmodified controller-runtime (its manager, cache, client,
// webhook server and envtest's helpers) works against this server over TLS as against Kubernetes.
package controllerruntime
