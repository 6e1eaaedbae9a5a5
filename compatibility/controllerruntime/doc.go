// Package controllerruntime contains only tests. They show that unmodified controller-runtime (its manager,
// cache, client, webhook server and envtest's helpers) works against this server over TLS as against
// Kubernetes.
package controllerruntime
